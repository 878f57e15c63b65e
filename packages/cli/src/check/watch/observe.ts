import { readInstant, type Instant } from "@signpost/core/adapter";
import type { Answer } from "../exchange.ts";
import { answerOf, headerOf } from "../exchange.ts";
import type { Exchange } from "../exchange.ts";
import { readFacts } from "../facts.ts";
import { valueOf } from "../key-facts.ts";
import { directSeconds, lifetimeOf, sharedSeconds } from "../lifetime.ts";
import { noAnswer } from "../rules/transport.ts";

/** A key as the watch knows it. */
export interface WatchedKey {
  /** Its kid as it was sent, or `key` and its position. */
  readonly name: string;
  /** Whether the name is a kid. */
  readonly isKid: boolean;
  /** What the key is, to see whether a name is given to another key. */
  readonly value: string;
}

/** One look at the key set. */
export type Observation =
  | { readonly kind: "away"; readonly at: number; readonly why: string }
  | {
      readonly kind: "set";
      /** When the answer had arrived, in milliseconds since 1970. */
      readonly at: number;
      /** The same on both clocks. */
      readonly instant: Instant;
      /** From the request to the end of the answer. Milliseconds. */
      readonly tookMs: number;
      /** Its age, in seconds. Undefined if no cache stated one. */
      readonly age: number | undefined;
      readonly keys: readonly WatchedKey[];
      readonly etag: string | undefined;
      readonly body: string;
      readonly cacheControl: string;
      /** How long a relying party may use this answer, in seconds. Undefined if the answer does not say. */
      readonly direct: number | undefined;
      /** The same behind a shared cache that sends no `Age`. */
      readonly shared: number | undefined;
    };

/** Reads an answer. */
export function observe(exchange: Exchange, at: number, instant: Instant = readInstant()): Observation {
  const answer = answerOf(exchange);
  if (answer?.status !== 200) return { kind: "away", at, why: noAnswer(exchange) };
  const { document, keys } = readFacts(
    { target: "", issuer: undefined, discovery: [], jwksUrl: undefined, redirects: [], probes: { get: answer } },
    false,
  );
  if (document === undefined || "fault" in document) return { kind: "away", at, why: document?.fault ?? "no set" };
  return {
    kind: "set",
    at,
    instant,
    tookMs: answer.tookMs,
    keys: keys.map(({ kid, label, members }) => ({
      name: kid ?? label,
      isKid: kid !== undefined,
      value: valueOf(members),
    })),
    etag: headerOf(answer, "etag"),
    body: document.text,
    cacheControl: headerOf(answer, "cache-control") ?? "",
    ...lifetimes(answer),
  };
}

function lifetimes(answer: Answer): Record<"age" | "direct" | "shared", number | undefined> {
  const lifetime = lifetimeOf(answer);
  const age = lifetime.isAgeStated ? lifetime.age : undefined;
  if (lifetime.freshFor === undefined) return { age, direct: undefined, shared: undefined };
  return { age, direct: directSeconds(lifetime), shared: sharedSeconds(lifetime) };
}
