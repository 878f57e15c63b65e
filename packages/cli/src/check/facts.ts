import { decodedBody } from "./content-coding.ts";
import type { Answer, DiscoveryExchange, Recording } from "./exchange.ts";
import { answerOf, headerOf } from "./exchange.ts";
import type { EntityTag } from "./entity-tag.ts";
import { readEntityTag } from "./entity-tag.ts";
import type { KeyFacts } from "./key-facts.ts";
import { readKey } from "./key-facts.ts";

/** A JSON object of a stranger. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** A recording, read once for all rules. */
export interface Facts {
  readonly recording: Recording;
  /** Whether the endpoint is also held to Signpost's own contract. */
  readonly isStrict: boolean;
  /** The answer to the GET. Undefined if there was none. */
  readonly answer: Answer | undefined;
  /** The same if its status is 200: what the rules about the set read. */
  readonly ok: Answer | undefined;
  /** The ETag of that answer. */
  readonly etag: EntityTag | undefined;
  readonly document: JwksText | undefined;
  /** The entries that are objects. */
  readonly keys: readonly KeyFacts[];
  /** Why a rule without its answer is skipped. */
  readonly whyNotAsked: string;
}

/** The body of the GET as text, and the JSON in it. */
export type JwksText =
  | { readonly fault: string }
  | { readonly text: string; readonly json: JsonObject; readonly entries: readonly unknown[] };

/** Reads what the rules need from a recording. */
export function readFacts(recording: Recording, isStrict: boolean): Facts {
  const { probes, isLimited } = withoutLimited(recording.probes);
  const answer = answerOf(probes.get);
  const ok = answer?.status === 200 ? answer : undefined;
  const document = ok === undefined ? undefined : readJwks(ok);
  const entries = document === undefined || "fault" in document ? [] : document.entries;
  return {
    recording: { ...recording, probes },
    isStrict,
    answer,
    ok,
    etag: ok === undefined ? undefined : readEntityTag(headerOf(ok, "etag")),
    document,
    keys: entries.flatMap((entry, index) => (isObject(entry) ? [readKey(entry, index)] : [])),
    whyNotAsked: ok === undefined ? "no set" : isLimited ? "the server limits requests: 429" : "not asked",
  };
}

/** An answer 429 says nothing about the request, only that there were too many. */
function withoutLimited(probes: Recording["probes"]): {
  readonly probes: Recording["probes"];
  readonly isLimited: boolean;
} {
  const all = Object.entries(probes);
  const kept = all.filter(([name, exchange]) => name === "get" || answerOf(exchange)?.status !== 429);
  return { probes: Object.fromEntries(kept), isLimited: kept.length < all.length };
}

/** Whether a JSON value is an object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The JSON object in a body. Says what is wrong if there is none. */
export function readJsonObject(
  answer: Answer,
): { readonly fault: string } | { readonly text: string; readonly json: JsonObject } {
  if (answer.isTruncated) return { fault: "the body is too long to read" };
  const body = decodedBody(answer);
  if (typeof body === "string") return { fault: body };
  // RFC 8259 section 8.1 forbids a byte order mark, and many parsers fail on it.
  if (body[0] === 0xef && body[1] === 0xbb) return { fault: "the body starts with a byte order mark" };
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
    const json: unknown = JSON.parse(text);
    return isObject(json) ? { text, json } : { fault: "the body is JSON, but not an object" };
  } catch (error) {
    return { fault: error instanceof SyntaxError ? describeText(body) : "the body is not UTF-8" };
  }
}

/** The object in a discovery document. Undefined if there is none. */
export function metadataOf({ exchange }: DiscoveryExchange): JsonObject | undefined {
  const answer = answerOf(exchange);
  if (answer?.status !== 200) return undefined;
  const read = readJsonObject(answer);
  // Many sites answer every path with a page or an object of their own.
  return "fault" in read || read.json["issuer"] === undefined ? undefined : read.json;
}

function describeText(body: Uint8Array): string {
  if (body.length === 0) return "the body is empty";
  const start = new TextDecoder().decode(body.subarray(0, 200)).trimStart();
  return start.startsWith("<") ? "the body is HTML or XML, not JSON" : "the body is not JSON";
}

function readJwks(answer: Answer): JwksText {
  const read = readJsonObject(answer);
  if ("fault" in read) return read;
  const { keys } = read.json;
  return Array.isArray(keys) ? { ...read, entries: keys } : { fault: 'the member "keys" is missing or not an array' };
}
