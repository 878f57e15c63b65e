import { brotliDecompressSync, gunzipSync, inflateSync } from "node:zlib";
import type { Answer } from "./exchange.ts";
import { headerOf } from "./exchange.ts";

/** As long as a body may be that is not compressed. */
const MAX_BYTES = 1_048_576;
const BOUND = { maxOutputLength: MAX_BYTES };

/** The content codings that relying parties decode (RFC 9110 section 8.4.1). */
const DECODERS: ReadonlyMap<string, (body: Uint8Array) => Uint8Array> = new Map([
  ["identity", (body: Uint8Array) => body],
  ["gzip", (body: Uint8Array) => gunzipSync(body, BOUND)],
  ["x-gzip", (body: Uint8Array) => gunzipSync(body, BOUND)],
  ["deflate", (body: Uint8Array) => inflateSync(body, BOUND)],
  ["br", (body: Uint8Array) => brotliDecompressSync(body, BOUND)],
]);

/** The coding of a body, in lower case. Undefined if there is none. */
export function codingOf(answer: Answer): string | undefined {
  const coding = headerOf(answer, "content-encoding")?.trim().toLowerCase();
  return coding === "" || coding === "identity" ? undefined : coding;
}

/** The body without its coding, as relying parties read it. A text says what is wrong. */
export function decodedBody(answer: Answer): Uint8Array | string {
  const decode = DECODERS.get(codingOf(answer) ?? "identity");
  if (decode === undefined) return "the body has a content coding that is not known here";
  try {
    return decode(answer.body);
  } catch (error) {
    const isTooLong = error instanceof Error && Reflect.get(error, "code") === "ERR_BUFFER_TOO_LARGE";
    return isTooLong
      ? "the body is too long to read"
      : "the body does not have the content coding that its header names";
  }
}
