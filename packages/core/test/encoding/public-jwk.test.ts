import { generateKeyPairSync } from "node:crypto";
import type { JsonWebKey } from "node:crypto";
import { PRIVATE_JWK_MEMBERS, publicJwkFrom } from "@signpost/core/adapter";
import { describe, expect, it } from "vitest";
import { expectEncodingError } from "./support.ts";

// Public keys of every type. P-256 has more cases in p256-jwk.test.ts.

const rsa = rsaOf(2048);

function rsaOf(modulusLength: number): JsonWebKey {
  return generateKeyPairSync("rsa", { modulusLength }).publicKey.export({ format: "jwk" });
}

const modulusOf = (bytes: number, last: number): string => {
  const modulus = Buffer.alloc(bytes, 0xff);
  modulus[bytes - 1] = last;
  return modulus.toString("base64url");
};

describe("publicJwkFrom", () => {
  it.each<[string, JsonWebKey]>([
    ["RSA of 2048 bits", rsa],
    ["RSA of 16384 bits", { ...rsa, n: modulusOf(2048, 0xff) }],
    ["P-521", generateKeyPairSync("ec", { namedCurve: "P-521" }).publicKey.export({ format: "jwk" })],
    ["Ed25519", generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" })],
  ])("takes %s", (_name, jwk) => {
    expect(publicJwkFrom({ ...jwk, kid: "a", note: 1 }, "key")).toEqual(jwk);
  });

  it("distinguishes an RSA key that is too short from one that is too long", () => {
    const short = { ...rsa, n: modulusOf(128, 0xff) };
    const oneLess = Buffer.from(rsa.n ?? "", "base64url");
    oneLess[0] = 0x7f;
    const weak = /^key: an RSA key of \d+ bits, expected 2048 to 16384$/;
    expectEncodingError(() => publicJwkFrom(short, "key"), "weak_key", weak);
    expectEncodingError(() => publicJwkFrom(rsaOf(1024), "key"), "weak_key", weak);
    expectEncodingError(
      () => publicJwkFrom({ ...rsa, n: oneLess.toString("base64url") }, "key"),
      "weak_key",
      /2047 bits/,
    );
    const long = { ...rsa, n: modulusOf(2049, 0xff) };
    expectEncodingError(() => publicJwkFrom(long, "key"), "unsupported_key", /16392 bits/);
    const oneMore = Buffer.alloc(2049, 0xff);
    oneMore[0] = 0x01;
    expectEncodingError(
      () => publicJwkFrom({ ...rsa, n: oneMore.toString("base64url") }, "key"),
      "unsupported_key",
      /16385 bits/,
    );
  });

  it.each<[string, JsonWebKey]>([
    ["an even modulus", { ...rsa, n: modulusOf(256, 0xfe) }],
    ["an even exponent", { ...rsa, e: "AQAA" }],
    ["an exponent of 1", { ...rsa, e: "AQ" }],
  ])("refuses %s", (_name, jwk) => {
    expectEncodingError(() => publicJwkFrom(jwk, "key"), "invalid_jwk", /so it is not an RSA/);
  });

  it.each([...PRIVATE_JWK_MEMBERS])("refuses the private member %s", (name) => {
    expectEncodingError(() => publicJwkFrom({ ...rsa, [name]: "AA" }, "key"), "invalid_jwk", /private member/);
  });
});

it("the private members are the ones in RFC 7518, RFC 8037 and AKP", () => {
  expect(PRIVATE_JWK_MEMBERS).toEqual(["d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"]);
});
