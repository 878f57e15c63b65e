import { expect, test } from "vitest";
import { readSigningInput } from "@signpost/core/adapter";

const encoded = (text: string): string => Buffer.from(text).toString("base64url");
const part = (value: unknown): string => encoded(JSON.stringify(value));
const HEADER = { alg: "ES256", kid: "é" };
const CLAIMS = { sub: "a", nested: { list: [1] } };
const INPUT = `${part(HEADER)}.${part(CLAIMS)}`;

test.each<[what: string, input: string | Uint8Array]>([
  ["text", INPUT],
  ["bytes", Buffer.from(INPUT)],
  ["a view into a larger buffer", Buffer.from(`..${INPUT}..`).subarray(2, -2)],
  ["a compact JWS", `${INPUT}.c2lnbmF0dXJl`],
])("a signing input as %s has its header and its claims", (_what, input) => {
  expect(readSigningInput(input)).toEqual({ header: HEADER, claims: CLAIMS });
});

test.each<[what: string, value: string]>([
  ["empty", ""],
  ["no JSON", encoded("{")],
  ["null", part(null)],
  ["a text", part("text")],
  ["a number", part(7)],
  ["a list", part([1, 2])],
])("a part that is %s has no members", (_what, value) => {
  expect(readSigningInput(`${value}.${part(CLAIMS)}`)).toEqual({ header: {}, claims: CLAIMS });
  expect(readSigningInput(`${part(HEADER)}.${value}`)).toEqual({ header: HEADER, claims: {} });
});

test("a header alone has no claims", () => {
  expect(readSigningInput(part(HEADER))).toEqual({ header: HEADER, claims: {} });
  expect(readSigningInput("")).toEqual({ header: {}, claims: {} });
});
