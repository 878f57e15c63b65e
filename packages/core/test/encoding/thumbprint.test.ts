import { createHash, generateKeyPairSync } from "node:crypto";
import { calculateJwkThumbprint, exportJWK, generateKeyPair } from "jose";
import { describe, expect, it } from "vitest";
import { jwkThumbprint } from "../../src/encoding/thumbprint.ts";
import type { EncodingErrorCode } from "../../src/errors.ts";
import { base64url, expectEncodingError, keyOfScalar, RARE_SCALARS } from "./support.ts";

const RFC_7515_A3 = {
  kty: "EC",
  crv: "P-256",
  x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
  y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
};
const RFC_7638_RSA = {
  kty: "RSA",
  n: "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw",
  e: "AQAB",
  alg: "RS256",
  kid: "2011-04-29",
};
const RFC_8037_A2 = { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" };

describe("published thumbprints", () => {
  it.each([
    ["the EC key of RFC 7515 A.3", RFC_7515_A3, "oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U"],
    ["the RSA key of RFC 7638 section 3.1", RFC_7638_RSA, "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"],
    ["the Ed25519 key of RFC 8037 A.3", RFC_8037_A2, "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"],
  ])("%s", (_name, jwk, expected) => {
    expect(jwkThumbprint(jwk)).toBe(expected);
  });
});

describe("jwkThumbprint", () => {
  it("hashes only the required members, in lexicographic order", () => {
    const text = `{"crv":"P-256","kty":"EC","x":"${RFC_7515_A3.x}","y":"${RFC_7515_A3.y}"}`;
    const { y, x, crv, kty } = RFC_7515_A3;
    expect(jwkThumbprint({ y, x, use: "sig", kid: "k", crv, alg: "ES256", kty })).toBe(
      createHash("sha256").update(text).digest("base64url"),
    );
  });

  it.each(Object.entries(RARE_SCALARS))("is jose's when %s", async (_property, scalar) => {
    const { jwk } = keyOfScalar(scalar);
    expect(jwkThumbprint(jwk)).toBe(await calculateJwkThumbprint(jwk));
  });

  it.each(["ES256", "ES384", "ES512", "RS256", "Ed25519", "ECDH-ES+A128KW"])(
    "is jose's for a key of %s",
    async (alg) => {
      const { publicKey } = await generateKeyPair(alg, { extractable: true });
      const jwk = await exportJWK(publicKey);
      expect(jwkThumbprint(jwk)).toBe(await calculateJwkThumbprint(jwk));
    },
  );

  it.each([
    ["X25519", generateKeyPairSync("x25519")],
    ["Ed448", generateKeyPairSync("ed448")],
    ["X448", generateKeyPairSync("x448")],
  ])("is jose's for a key of %s", async (_crv, { publicKey }) => {
    const jwk = publicKey.export({ format: "jwk" });
    expect(jwkThumbprint(jwk)).toBe(await calculateJwkThumbprint(publicKey));
  });

  it("is the same for a private key as for its public half (RFC 7638 section 3.2.1)", () => {
    const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    expect(jwkThumbprint(privateKey.export({ format: "jwk" }))).toBe(
      jwkThumbprint(publicKey.export({ format: "jwk" })),
    );
  });

  const p384 = generateKeyPairSync("ec", { namedCurve: "P-384" }).publicKey.export({ format: "jwk" });
  const table: readonly (readonly [string, unknown, EncodingErrorCode, RegExp])[] = [
    ["no object", "text", "invalid_jwk", /^jwk: expected a JWK object, got a string$/],
    ["no kty", {}, "invalid_jwk", /^jwk: the member "kty" is missing$/],
    ["a symmetric key", { kty: "oct", k: "c2VjcmV0" }, "unsupported_key", /"kty" is not a supported key type/],
    [
      "an AKP key",
      { kty: "AKP", alg: "ML-DSA-44", pub: "AAAA" },
      "unsupported_key",
      /"kty" is not a supported key type/,
    ],
    ["an EC key without y", { ...RFC_7515_A3, y: undefined }, "invalid_jwk", /"y" is missing/],
    [
      "padded x: the same key would have two thumbprints",
      { ...RFC_7515_A3, x: `${RFC_7515_A3.x}=` },
      "invalid_jwk",
      /"x" is not canonical/,
    ],
    ["a point off its curve", { ...p384, y: p384.x }, "invalid_jwk", /not on the curve P-384/],
    ["an unknown curve", { ...RFC_7515_A3, crv: "P-224" }, "unsupported_key", /"crv" is not a supported curve/],
    [
      "an RSA modulus with a zero byte in front",
      { ...RFC_7638_RSA, n: base64url(Buffer.concat([Buffer.alloc(1), Buffer.from(RFC_7638_RSA.n, "base64url")])) },
      "invalid_jwk",
      /"n" is empty or starts with a zero byte/,
    ],
    ["an empty exponent", { ...RFC_7638_RSA, e: "" }, "invalid_jwk", /"e" is empty/],
    [
      "an exponent in another encoding",
      { ...RFC_7638_RSA, e: "AAEAAQ" },
      "invalid_jwk",
      /"e" is empty or starts with a zero byte/,
    ],
    ["an RSA key without n", { ...RFC_7638_RSA, n: undefined }, "invalid_jwk", /"n" is missing/],
    [
      "an Ed25519 key of 31 bytes",
      { ...RFC_8037_A2, x: base64url(new Uint8Array(31).fill(1)) },
      "invalid_jwk",
      /"x" has 31 bytes, expected 32/,
    ],
    [
      "an OKP key on a NIST curve",
      { ...RFC_8037_A2, crv: "P-256" },
      "unsupported_key",
      /"crv" is not a supported curve/,
    ],
    [
      "an EC key on an Edwards curve",
      { ...RFC_7515_A3, crv: "Ed25519" },
      "unsupported_key",
      /"crv" is not a supported curve/,
    ],
  ];

  it.each(table)("refuses %s", (_name, jwk, code, message) => {
    expectEncodingError(() => Reflect.apply(jwkThumbprint, undefined, [jwk]), code, message);
  });
});
