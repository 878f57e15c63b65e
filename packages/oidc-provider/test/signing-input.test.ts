import { describe, expect, test } from "vitest";
import { readTokenToSign } from "../src/signing-input.ts";

const encode = (part: unknown): string => Buffer.from(JSON.stringify(part)).toString("base64url");
const input = (header: unknown, claims: unknown = {}): Buffer => Buffer.from(`${encode(header)}.${encode(claims)}`);

describe("the token that the host wants signed", () => {
  test("has the kid of its header and its claims", () => {
    const claims = { iss: "https://op.example", exp: 1_800_000_000 };
    expect(readTokenToSign(input({ alg: "ES256", kid: "a", typ: "JWT" }, claims))).toEqual({ kid: "a", claims });
  });

  test("may have an empty kid, which names no key", () => {
    expect(readTokenToSign(input({ alg: "ES256", kid: "" })).kid).toBe("");
  });

  test.each([
    ["no JSON", Buffer.from(`${encode({ alg: "ES256", kid: "a" })}.e30x!`)],
    ["a text", input({ alg: "ES256", kid: "a" }, "claims")],
    ["a list", input({ alg: "ES256", kid: "a" }, ["claims"])],
    ["null", input({ alg: "ES256", kid: "a" }, null)],
    ["missing", Buffer.from(encode({ alg: "ES256", kid: "a" }))],
  ])("has no claims if its payload is %s", (_what, data) => {
    expect(readTokenToSign(data)).toEqual({ kid: "a", claims: {} });
  });

  test.each<[what: string, argument: string, header: unknown]>([
    ["without a kid", "kid", { alg: "ES256" }],
    ["with a number as kid", "kid", { alg: "ES256", kid: 1 }],
    ["with null as kid", "kid", { alg: "ES256", kid: null }],
    ["with a list as kid", "kid", { alg: "ES256", kid: ["a"] }],
    ["without anything", "kid", {}],
    ["that is null", "kid", null],
    ["that is a list", "kid", []],
    ["without an algorithm", "alg", { kid: "a" }],
    ["of another algorithm", "alg", { alg: "RS256", kid: "a" }],
    ["of an algorithm in lower case", "alg", { alg: "es256", kid: "a" }],
    ["of a list of algorithms", "alg", { alg: ["ES256"], kid: "a" }],
  ])("is refused with a header %s: the error names %s", (_what, argument, header) => {
    expect(() => readTokenToSign(input(header))).toThrow(
      expect.objectContaining({ name: "ConfigurationError", argument }),
    );
  });
});
