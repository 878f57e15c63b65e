import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { codingOf, decodedBody } from "../../src/check/content-coding.ts";
import type { Answer } from "../../src/check/exchange.ts";
import { readJsonObject } from "../../src/check/facts.ts";
import { exchangeOf, JWKS_URI } from "./support/op.ts";
import type { Reply } from "./support/op.ts";

// How the body of a stranger is read, and what is said if it cannot be.

function answer(body: string | Uint8Array, coding?: string, more: Partial<Reply> = {}): Answer {
  const reply = { status: 200, headers: { "content-encoding": coding }, body, ...more };
  const exchange = exchangeOf(() => reply, { method: "GET", url: JWKS_URI, headers: {} });
  if (exchange.kind !== "answer") throw new Error("there is no answer");
  return exchange;
}

const OBJECT = '{"a":1}';
const read = (body: string | Uint8Array, coding?: string, more?: Partial<Reply>): unknown => {
  const found = readJsonObject(answer(body, coding, more));
  return "fault" in found ? found.fault : found.json;
};
const UNDECODED = "the body does not have the content coding that its header names";
const TOO_LONG = "the body is too long to read";

describe("a JSON object", () => {
  test.each<[coding: string | undefined, body: string | Uint8Array]>([
    [undefined, OBJECT],
    ["identity", OBJECT],
    ["", OBJECT],
    [" Identity ", OBJECT],
    ["gzip", gzipSync(OBJECT)],
    [" GZIP\t", gzipSync(OBJECT)],
    ["x-gzip", gzipSync(OBJECT)],
    ["deflate", deflateSync(OBJECT)],
    ["br", brotliCompressSync(OBJECT)],
  ])("is read with the coding %j", (coding, body) => {
    expect(read(body, coding)).toEqual({ a: 1 });
  });

  test.each<[what: string, body: string | Uint8Array, coding: string | undefined, fault: string | RegExp]>([
    ["an unknown coding", OBJECT, "zip", "the body has a content coding that is not known here"],
    ["two codings", OBJECT, "gzip, br", "the body has a content coding that is not known here"],
    ["no gzip", OBJECT, "gzip", UNDECODED],
    ["raw deflate", deflateRawSync(OBJECT), "deflate", UNDECODED],
    ["another coding", gzipSync(OBJECT), "br", UNDECODED],
    ["a byte order mark", `\ufeff${OBJECT}`, undefined, "the body starts with a byte order mark"],
    ["bytes that are not UTF-8", Uint8Array.of(0x22, 0xef, 0x22), undefined, "the body is not UTF-8"],
    ["the first byte of a mark alone", Uint8Array.of(0xef, 0x22), undefined, "the body is not UTF-8"],
    ["a letter that begins like a mark", "\uf000", undefined, /^the body (?!starts)/],
    ["a list", "[]", undefined, "the body is JSON, but not an object"],
    ["null", "null", undefined, "the body is JSON, but not an object"],
    ["text", '"a"', undefined, "the body is JSON, but not an object"],
    ["markup after 199 spaces", `${" ".repeat(199)}<html>`, undefined, "the body is HTML or XML, not JSON"],
    ["markup after 200 spaces", `${" ".repeat(200)}<html>`, undefined, "the body is not JSON"],
  ])("is not there if the body has %s", (_what, body, coding, fault) => {
    const found = read(body, coding);
    if (typeof fault === "string") expect(found).toBe(fault);
    else expect(found).toMatch(fault);
  });

  test("has up to 1 MiB, however small it is on its way", () => {
    const of = (length: number): string => OBJECT.padEnd(length);
    for (const [coding, compress] of [
      ["gzip", gzipSync],
      ["x-gzip", gzipSync],
      ["deflate", deflateSync],
      ["br", brotliCompressSync],
    ] as const) {
      expect(read(compress(of(1_048_576)), coding)).toEqual({ a: 1 });
      expect(read(compress(of(1_048_577)), coding)).toBe(TOO_LONG);
    }
    expect(read(OBJECT, undefined, { isTruncated: true })).toBe(TOO_LONG);
  });
});

test("a coding is named in lower case, and identity is none", () => {
  const codings = [undefined, "", "identity", " IDENTITY ", " GZip ", "gzip, br"].map((coding) =>
    codingOf(answer("", coding)),
  );
  expect(codings).toEqual([undefined, undefined, undefined, undefined, "gzip", "gzip, br"]);
  expect(decodedBody(answer("abc"))).toEqual(Buffer.from("abc"));
});
