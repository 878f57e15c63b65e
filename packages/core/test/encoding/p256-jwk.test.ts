import { createPublicKey, generateKeyPairSync, sign, verify } from "node:crypto";
import fc from "fast-check";
import { exportJWK, generateKeyPair } from "jose";
import { describe, expect, it } from "vitest";
import { p256JwkFrom } from "../../src/encoding/given-key.ts";
import { jwkToSpki } from "../../src/encoding/spki.ts";
import type { EncodingErrorCode } from "../../src/errors.ts";
import {
  base64url,
  concat,
  encodingErrorOf,
  expectEncodingError,
  fixed,
  hex,
  keyOfScalar,
  PRIME,
  RARE_SCALARS,
} from "./support.ts";

const key = keyOfScalar(99_991);
const { jwk } = key;

describe("p256JwkFrom", () => {
  it("leaves out every member that is not part of the key, in the order of the JWKS", () => {
    const taken = p256JwkFrom(
      { use: "sig", y: jwk.y, kid: "a", x: jwk.x, alg: "ES256", crv: "P-256", kty: "EC", ext: true },
      "publicKey",
    );
    expect(JSON.stringify(taken)).toBe(JSON.stringify({ kty: "EC", crv: "P-256", x: jwk.x, y: jwk.y }));
    expect(Object.isFrozen(taken)).toBe(true);
  });

  it.each(Object.entries(RARE_SCALARS))("takes a key when %s", (_property, scalar) => {
    expect(p256JwkFrom(keyOfScalar(scalar).jwk, "publicKey")).toEqual(keyOfScalar(scalar).jwk);
  });

  it("accepts keys that node:crypto and jose export, and SPKI PEM", async () => {
    const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const exported = publicKey.export({ format: "jwk" });
    expect(p256JwkFrom(exported, "publicKey")).toEqual(exported);
    expect(p256JwkFrom(publicKey.export({ type: "spki", format: "pem" }), "publicKey")).toEqual(exported);
    const fromJose = await exportJWK((await generateKeyPair("ES256", { extractable: true })).publicKey);
    expect(p256JwkFrom(fromJose, "publicKey")).toMatchObject({ x: fromJose.x, y: fromJose.y });
  });

  it("does not look at the input again once it was taken", () => {
    const given = { ...jwk };
    const taken = p256JwkFrom(given, "publicKey");
    Object.assign(given, { x: "changed", d: "secret" });
    expect(taken).toEqual(jwk);
  });

  it("takes a private member that is undefined as absent, as JSON does", () => {
    expect(p256JwkFrom({ ...jwk, d: undefined }, "publicKey")).toEqual(jwk);
  });

  const bytes = (text: string): Uint8Array => Buffer.from(text, "base64url");
  const with_ = (members: object): object => ({ ...jwk, ...members });
  const notCanonical = /^publicKey: the member "x" is not canonical unpadded base64url$/;
  /** The last of 43 characters carries two bits that stand for nothing. */
  const looseBits = (text: string): string =>
    text.slice(0, -1) + (/[AEIMQUYcgkosw048]$/.test(text) ? nextCharacter(text.slice(-1)) : "");
  const standardAlphabet = standardAlphabetKey();

  const table: readonly (readonly [string, unknown, EncodingErrorCode, RegExp])[] = [
    ["undefined", undefined, "invalid_jwk", /^publicKey: expected a JWK object, got undefined$/],
    ["null", null, "invalid_jwk", /expected a JWK object, got null$/],
    ["an array", [jwk], "invalid_jwk", /expected a JWK object, got an array$/],
    ["a function", () => jwk, "invalid_jwk", /expected a JWK object, got a function$/],
    ["JSON text", JSON.stringify(jwk), "invalid_spki", /^publicKey: expected exactly one PEM block/],
    [
      "a PEM private key",
      generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" }),
      "invalid_spki",
      /^publicKey: expected exactly one PEM block/,
    ],
    ["a KeyObject", generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey, "invalid_jwk", /"kty" is missing/],
    ["no kty", with_({ kty: undefined }), "invalid_jwk", /^publicKey: the member "kty" is missing$/],
    ["kty in lower case", with_({ kty: "ec" }), "unsupported_key", /"kty" is not a supported key type/],
    [
      "an RSA key",
      generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey.export({ format: "jwk" }),
      "unsupported_key",
      /^publicKey: expected an EC key on the curve P-256$/,
    ],
    [
      "an Ed25519 key",
      generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" }),
      "unsupported_key",
      /expected an EC key on the curve P-256/,
    ],
    [
      "a P-384 key",
      generateKeyPairSync("ec", { namedCurve: "P-384" }).publicKey.export({ format: "jwk" }),
      "unsupported_key",
      /expected an EC key on the curve P-256/,
    ],
    [
      "a P-521 key",
      generateKeyPairSync("ec", { namedCurve: "P-521" }).publicKey.export({ format: "jwk" }),
      "unsupported_key",
      /expected an EC key on the curve P-256/,
    ],
    [
      "a secp256k1 key",
      generateKeyPairSync("ec", { namedCurve: "secp256k1" }).publicKey.export({ format: "jwk" }),
      "unsupported_key",
      /"crv" is not a supported curve/,
    ],
    ["no crv", with_({ crv: undefined }), "invalid_jwk", /"crv" is missing/],
    ["another name of the curve", with_({ crv: "prime256v1" }), "unsupported_key", /"crv" is not a supported curve/],
    ["a P-256 point under P-384", with_({ crv: "P-384" }), "invalid_jwk", /"x" has 32 bytes, expected 48/],

    [
      "a private key",
      generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" }),
      "invalid_jwk",
      /^publicKey: expected a public key, but it has the private member "d"$/,
    ],
    ["a symmetric key", { kty: "oct", k: "c2VjcmV0" }, "invalid_jwk", /private member "k"/],
    ...["d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"].map(
      (name) =>
        [
          `the private member ${name}`,
          with_({ [name]: "AQAB" }),
          "invalid_jwk",
          new RegExp(`private member "${name}"`),
        ] as const,
    ),
    ["a private member that is null", with_({ d: null }), "invalid_jwk", /private member "d"/],
    ["an empty private member", with_({ d: "" }), "invalid_jwk", /private member "d"/],
    ["an inherited private member", Object.create({ ...jwk, d: "AQAB" }), "invalid_jwk", /private member "d"/],

    ["no x", with_({ x: undefined }), "invalid_jwk", /^publicKey: the member "x" is missing or not a string$/],
    ["no y", with_({ y: undefined }), "invalid_jwk", /"y" is missing or not a string/],
    ["x as bytes", with_({ x: key.x }), "invalid_jwk", /"x" is missing or not a string/],
    ["x as a String object", with_({ x: Object(jwk.x) }), "invalid_jwk", /"x" is missing or not a string/],
    ["x empty", with_({ x: "" }), "invalid_jwk", /"x" has 0 bytes, expected 32/],
    ["x with padding", with_({ x: `${jwk.x}=` }), "invalid_jwk", notCanonical],
    ["x with a newline", with_({ x: `${jwk.x.slice(0, 20)}\n${jwk.x.slice(20)}` }), "invalid_jwk", notCanonical],
    ["x with a newline at the end", with_({ x: `${jwk.x}\n` }), "invalid_jwk", notCanonical],
    ["x with a blank in front", with_({ x: ` ${jwk.x}` }), "invalid_jwk", notCanonical],
    ["x with another character", with_({ x: `${jwk.x.slice(0, 42)}~` }), "invalid_jwk", notCanonical],
    ["x in the standard alphabet", standardAlphabet, "invalid_jwk", notCanonical],
    [
      "x in hexadecimal",
      with_({ x: Buffer.from(key.x).toString("hex") }),
      "invalid_jwk",
      /"x" has 48 bytes, expected 32/,
    ],
    ["x with bits behind the last byte", with_({ x: looseBits(jwk.x) }), "invalid_jwk", notCanonical],
    ["y with bits behind the last byte", with_({ y: looseBits(jwk.y) }), "invalid_jwk", /"y" is not canonical/],
    [
      "x of 31 bytes: a leading zero stripped",
      { ...keyOfScalar(379).jwk, x: base64url(keyOfScalar(379).x.subarray(1)) },
      "invalid_jwk",
      /"x" has 31 bytes, expected 32/,
    ],
    [
      "x of 33 bytes: a zero byte in front",
      with_({ x: base64url(concat(hex("00"), key.x)) }),
      "invalid_jwk",
      /"x" has 33 bytes, expected 32/,
    ],
    [
      "y of 33 bytes: a zero byte in front",
      with_({ y: base64url(concat(hex("00"), key.y)) }),
      "invalid_jwk",
      /"y" has 33 bytes, expected 32/,
    ],
    ["x with a lone last character", with_({ x: jwk.x.slice(0, 41) }), "invalid_jwk", notCanonical],

    [
      "x and y exchanged",
      with_({ x: jwk.y, y: jwk.x }),
      "invalid_jwk",
      /^publicKey: the point is not on the curve P-256$/,
    ],
    ["y of another key", with_({ y: keyOfScalar(2).jwk.y }), "invalid_jwk", /not on the curve/],
    [
      "zero",
      with_({ x: base64url(new Uint8Array(32)), y: base64url(new Uint8Array(32)) }),
      "invalid_jwk",
      /not on the curve/,
    ],
    ["x not below the field's prime", with_({ x: base64url(fixed(PRIME + 5n)) }), "invalid_jwk", /not on the curve/],
    [
      "one bit of y flipped",
      with_({
        y: base64url(
          Buffer.concat([key.y.subarray(0, 31), Buffer.from([bytes(jwk.y)[31] ?? 0]).map((byte) => byte ^ 1)]),
        ),
      }),
      "invalid_jwk",
      /not on the curve/,
    ],
  ];

  it.each(table)("refuses %s", (_name, value, code, message) => {
    expectEncodingError(() => p256JwkFrom(value, "publicKey"), code, message);
  });

  it("names the argument it was given", () => {
    expectEncodingError(() => p256JwkFrom({}, "keys[2].publicKey"), "invalid_jwk", /^keys\[2\]\.publicKey: /);
  });

  it("never shows the value of a refused member", () => {
    const leaked = table.flatMap(([name, value]) => {
      const message = encodingErrorOf(() => p256JwkFrom(value, "publicKey"))?.message ?? "";
      const held = typeof value === "object" && value !== null ? Object.values(value) : [value];
      return held.some((text) => typeof text === "string" && text.length > 5 && message.includes(text)) ? [name] : [];
    });
    expect(leaked).toEqual([]);
  });

  it("throws only EncodingError, for any value", () => {
    const member = fc.oneof(
      fc.string(),
      fc.base64String(),
      fc.constantFrom("EC", "P-256", jwk.x, jwk.y),
      fc.anything(),
    );
    const shaped = fc.dictionary(fc.constantFrom("kty", "crv", "x", "y", "d", "kid"), member);
    fc.assert(
      fc.property(fc.oneof(fc.anything(), shaped), (value) => {
        encodingErrorOf(() => p256JwkFrom(value, "publicKey"));
      }),
      { numRuns: 3_000 },
    );
  });
});

describe("jwkToSpki", () => {
  it("refuses with the same rules, and names its own argument", () => {
    expectEncodingError(() => jwkToSpki({ ...jwk, d: "AQAB" }), "invalid_jwk", /^jwk: expected a public key/);
    expectEncodingError(() => jwkToSpki({ ...jwk, x: `${jwk.x}=` }), "invalid_jwk", /^jwk: the member "x"/);
    expectEncodingError(
      () => jwkToSpki({ ...jwk, crv: "P-521" }),
      "invalid_jwk",
      /^jwk: the member "x" has 32 bytes, expected 66$/,
    );
  });
});

describe("p256JwkFrom, imported by node:crypto", () => {
  it("verifies the message that the private half signed, and no other", () => {
    const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const members = p256JwkFrom(publicKey.export({ format: "jwk" }), "publicKey");
    const object = createPublicKey({ key: { ...members }, format: "jwk" });
    const signature = sign("sha256", Buffer.from("message"), privateKey);
    expect(object.type).toBe("public");
    expect(verify("sha256", Buffer.from("message"), object, signature)).toBe(true);
    expect(verify("sha256", Buffer.from("another"), object, signature)).toBe(false);
  });
});

function nextCharacter(character: string): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  return alphabet.charAt(alphabet.indexOf(character) + 1);
}

/** A key whose x has a character that the two alphabets write differently, written in the wrong one. */
function standardAlphabetKey(): object {
  for (let scalar = 1; ; scalar += 1) {
    const { jwk: candidate } = keyOfScalar(scalar);
    if (/[-_]/.test(candidate.x)) return { ...candidate, x: candidate.x.replaceAll("-", "+").replaceAll("_", "/") };
  }
}
