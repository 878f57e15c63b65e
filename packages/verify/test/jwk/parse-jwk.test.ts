import { createPublicKey, generateKeyPairSync } from "node:crypto";
import type { JsonWebKey } from "node:crypto";
import { inspect } from "node:util";
import { createStaticKeySet } from "@signpost/verify";
import * as fc from "fast-check";
import { SignJWT, jwtVerify } from "jose";
import { describe, expect, it } from "vitest";
import { testKey } from "../support/keys.ts";

// One entry of a set, by the letter of RFC 7517 and RFC 7518.

const p256 = testKey("k").jwk;
const p384 = testKey("k", "ES384").jwk;
const p521 = testKey("k", "ES512").jwk;
const rsa = testKey("k", "RS256").jwk;
const ed25519 = testKey("k", "EdDSA").jwk;

function dropReason(entry: unknown): string | undefined {
  const other = { ...testKey("other").jwk };
  const [reason] = Object.keys(createStaticKeySet({ keys: [entry, other] }).dropped);
  return reason;
}

/** The same bytes in another spelling, or other bytes. */
function respelled(value: string | undefined, change: (bytes: Buffer) => Buffer | string): string {
  const changed = change(Buffer.from(value ?? "", "base64url"));
  return typeof changed === "string" ? changed : changed.toString("base64url");
}

const padded = (bytes: Buffer): string => `${bytes.toString("base64url")}${"=".repeat((3 - (bytes.length % 3)) % 3)}`;
const longer = (bytes: Buffer): Buffer => Buffer.concat([Buffer.alloc(1), bytes]);
const shorter = (bytes: Buffer): Buffer => bytes.subarray(1);
/** The spare bits of the last character, which decode to nothing. */
const spareBits = (bytes: Buffer): string => {
  const text = bytes.toString("base64url");
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  return text.slice(0, -1) + (alphabet[alphabet.indexOf(text.at(-1) ?? "") + 1] ?? "");
};

describe("keys that are taken", () => {
  it.each<[string, JsonWebKey]>([
    ["P-256", p256],
    ["P-384", p384],
    ["P-521", p521],
    ["RSA of 2048 bits", rsa],
    ["Ed25519", ed25519],
    ["without alg and use", { ...p256, alg: undefined, use: undefined }],
    ["key_ops verify", { ...p256, key_ops: ["verify"] }],
    ["unknown members", { ...p256, x5c: ["AA=="], exp: 1 }],
    ["alg Ed25519, which RFC 9864 calls what EdDSA is here", { ...ed25519, alg: "Ed25519" }],
    // What serializers write for members that are not there.
    ...["use", "alg", "key_ops", "kid", "d", "k", "oth", "x5c", "n"].map((name): [string, JsonWebKey] => [
      `${name} null`,
      { ...p256, [name]: null },
    ]),
    ["RSA with crv null", { ...rsa, crv: null as unknown as string }],
    // DER and Java's BigInteger write it in front of a number whose top bit is set.
    ["n with a zero byte as its sign", { ...rsa, n: respelled(rsa.n, longer) }],
  ])("%s", (_name, jwk) => {
    const entry = JSON.parse(JSON.stringify(jwk)) as unknown;
    expect(dropReason(entry)).toBeUndefined();
  });

  it("keep their full length even if a coordinate starts with a zero byte", () => {
    const leadingZero = (): JsonWebKey => {
      for (;;) {
        const jwk = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" });
        if (Buffer.from(jwk.x ?? "", "base64url")[0] === 0) return jwk;
      }
    };
    const jwk = leadingZero();
    expect(dropReason(jwk)).toBeUndefined();
    expect(dropReason({ ...jwk, x: respelled(jwk.x, shorter) })).toBe("malformed");
  });
});

it.each([0x80, 0x81, 0xff])("an RSA modulus that begins with 0x%s may have the sign byte of DER", (first) => {
  const { n = "", ...rest } = generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey.export({ format: "jwk" });
  const written = { ...rest, n: respelled(n, (bytes) => (bytes.writeUInt8(first, 0), bytes)) };
  expect(dropReason(written)).toBeUndefined();
  expect(dropReason({ ...written, n: respelled(written.n, longer) })).toBeUndefined();
});

/** 32 bytes, little-endian: how they begin, what fills them, how they end. */
function edwards(first: string, fill = "00", last = fill): string {
  const middle = fill.repeat(31 - first.length / 2);
  return Buffer.from(first + middle + last, "hex").toString("base64url");
}

const ORDER_8 = [
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
];

describe("entries that are left out", () => {
  const rsaOf = (modulusLength: number): JsonWebKey =>
    generateKeyPairSync("rsa", { modulusLength }).publicKey.export({ format: "jwk" });
  it.each<[string, unknown, string]>([
    ["a string", "key", "not_an_object"],
    ["null", null, "not_an_object"],
    ["an array", [p256], "not_an_object"],
    ["no kty", { ...p256, kty: undefined }, "malformed"],
    ["kty that is not a string", { ...p256, kty: 1 }, "malformed"],
    ["kty in lower case", { ...p256, kty: "ec" }, "unsupported_kty"],
    ["an ML-DSA key", { kty: "AKP", alg: "ML-DSA-65", pub: "AAAA" }, "unsupported_kty"],
    ["an ML-DSA key with its private part", { kty: "AKP", alg: "ML-DSA-65", pub: "AAAA", priv: "AAAA" }, "private"],
    ["a symmetric key", { kty: "oct", k: "AAAA" }, "symmetric"],
    ...["d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"].map((name): [string, unknown, string] => [
      `a private member ${name}`,
      { ...p256, [name]: "AAAA" },
      "private",
    ]),
    ["secp256k1", { ...p256, crv: "secp256k1" }, "unsupported_crv"],
    ["Ed448", { ...ed25519, crv: "Ed448" }, "unsupported_crv"],
    ["X25519", { ...ed25519, crv: "X25519", alg: undefined }, "unsupported_crv"],
    ["no crv", { ...p256, crv: undefined }, "malformed"],
    ["no y", { ...p256, y: undefined }, "malformed"],
    ["y that is not a string", { ...p256, y: 7 }, "malformed"],
    ["x of 31 bytes", { ...p256, x: respelled(p256.x, shorter) }, "malformed"],
    ["x of 33 bytes", { ...p256, x: respelled(p256.x, longer) }, "malformed"],
    ["x with padding", { ...p256, x: respelled(p256.x, padded) }, "malformed"],
    ["x with a line feed", { ...p256, x: `${p256.x}\n` }, "malformed"],
    ["x with spare bits set", { ...p256, x: respelled(p256.x, spareBits) }, "malformed"],
    ["x of Ed25519 with 33 bytes", { ...ed25519, x: respelled(ed25519.x, longer) }, "malformed"],
    ["a point off the curve", { ...p256, y: p256.x }, "malformed"],
    ["a point off the curve of Ed25519", { ...ed25519, x: edwards("02") }, "malformed"],
    ["y of Ed25519 that is not reduced", { ...ed25519, x: edwards("f0ff", "ff", "7f") }, "malformed"],
    // RFC 8032: under a key of small order, one constant signature verifies for every message.
    ["the neutral point of Ed25519", { ...ed25519, x: edwards("01") }, "small_order"],
    ["the neutral point with a sign", { ...ed25519, x: edwards("01", "00", "80") }, "small_order"],
    ["the point of order 2", { ...ed25519, x: edwards("ec", "ff", "7f") }, "small_order"],
    ["a point of order 4", { ...ed25519, x: edwards("00") }, "small_order"],
    ["the other point of order 4", { ...ed25519, x: edwards("00", "00", "80") }, "small_order"],
    ...ORDER_8.map((hex, index): [string, unknown, string] => [
      `point ${index + 1} of order 8`,
      { ...ed25519, x: Buffer.from(hex, "hex").toString("base64url") },
      "small_order",
    ]),
    ["the point of another curve", { ...p384, crv: "P-256", alg: "ES256" }, "malformed"],
    ["RSA of 2047 bits", { ...rsa, n: respelled(rsa.n, (bytes) => (bytes.writeUInt8(0x7f, 0), bytes)) }, "weak_rsa"],
    ["RSA of 1024 bits", rsaOf(1024), "weak_rsa"],
    ["RSA of more than 16384 bits", { ...rsa, n: Buffer.alloc(2049, 0xff).toString("base64url") }, "malformed"],
    ["an even n", { ...rsa, n: respelled(rsa.n, (bytes) => (bytes.writeUInt8(0xfe, 255), bytes)) }, "malformed"],
    ["n with two leading zero bytes", { ...rsa, n: respelled(rsa.n, (bytes) => longer(longer(bytes))) }, "malformed"],
    [
      "n with a zero byte that is not a sign byte",
      { ...rsa, n: respelled(rsa.n, (bytes) => longer(Buffer.concat([Buffer.of(0x7f), bytes]))) },
      "malformed",
    ],
    ["n with padding", { ...rsa, n: `${rsa.n}==` }, "malformed"],
    ["e with a leading zero byte", { ...rsa, e: "AAEAAQ" }, "malformed"],
    ["e of 1", { ...rsa, e: "AQ" }, "malformed"],
    ["an even e", { ...rsa, e: "AQAA" }, "malformed"],
    ["e of nine bytes", { ...rsa, e: Buffer.alloc(9, 0xff).toString("base64url") }, "malformed"],
    ["no e", { ...rsa, e: undefined }, "malformed"],
    ["a kid that is not a string", { ...p256, kid: 7 }, "malformed"],
    ["an empty kid", { ...p256, kid: "" }, "malformed"],
    ["use enc", { ...p256, use: "enc", alg: undefined }, "not_for_signatures"],
    ["use that is empty", { ...p256, use: "" }, "not_for_signatures"],
    ["use in upper case", { ...p256, use: "SIG" }, "not_for_signatures"],
    ["use that is not a string", { ...p256, use: ["sig"] }, "malformed"],
    ["key_ops without verify", { ...p256, key_ops: ["sign"] }, "not_for_signatures"],
    ["key_ops that are empty", { ...p256, key_ops: [] }, "not_for_signatures"],
    ["key_ops that are empty, with use sig", { ...p256, use: "sig", key_ops: [] }, "not_for_signatures"],
    ["key_ops that are not an array", { ...p256, key_ops: "verify" }, "malformed"],
    ["key_ops twice the same", { ...p256, key_ops: ["verify", "verify"] }, "malformed"],
    ["an encryption alg", { ...rsa, use: undefined, alg: "RSA-OAEP-256" }, "unsupported_alg"],
    ["alg HS256", { ...p256, alg: "HS256" }, "unsupported_alg"],
    ["alg in lower case", { ...p256, alg: "es256" }, "unsupported_alg"],
    ["alg of another curve", { ...p256, alg: "ES384" }, "malformed"],
    ["alg of another type", { ...p256, alg: "RS256" }, "malformed"],
    ["alg that is empty", { ...p256, alg: "" }, "unsupported_alg"],
    ["alg that is not a string", { ...p256, alg: 7 }, "malformed"],
    ["alg Ed25519 for another key", { ...p256, alg: "Ed25519" }, "malformed"],
    ["a member of more than 8 KiB", { ...p256, note: "x".repeat(8193) }, "malformed"],
  ])("%s", (_name, entry, reason) => {
    // As it comes out of a document: without undefined members.
    expect(dropReason(JSON.parse(JSON.stringify(entry)))).toBe(reason);
  });

  it("nothing at its limit: a member of 8 KiB, e of eight bytes", () => {
    const e = Buffer.from("0100000000000001", "hex").toString("base64url");
    for (const entry of [
      { ...p256, note: "x".repeat(8192) },
      { ...rsa, e },
    ])
      expect(dropReason(entry)).toBeUndefined();
  });

  it("a private member, even without a value", () => {
    expect(dropReason({ ...p256, d: undefined })).toBe("private");
  });

  it("x in the standard base64 alphabet", () => {
    const jwk = (() => {
      for (;;) {
        const made = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" });
        if (/[-_]/.test(made.x ?? "")) return made;
      }
    })();
    expect(dropReason(jwk)).toBeUndefined();
    expect(dropReason({ ...jwk, x: jwk.x?.replaceAll("-", "+").replaceAll("_", "/") })).toBe("malformed");
  });

  it("no input makes it throw, and node:crypto accepts every key that it accepts", () => {
    const member = fc.constantFrom("kty", "crv", "x", "y", "n", "e", "alg", "use", "kid", "key_ops", "d", "__proto__");
    const value = fc.oneof(
      fc.string(),
      fc.constantFrom(...Object.values(p256), ...Object.values(rsa), null, [], {}),
      fc.jsonValue(),
    );
    const change = fc.dictionary(member, value, { maxKeys: 3 });
    fc.assert(
      fc.property(fc.constantFrom(p256, p384, p521, rsa, ed25519), change, (jwk, changes) => {
        const entry = { ...jwk, ...changes };
        if (dropReason(entry) !== undefined) return;
        expect(createPublicKey({ key: entry, format: "jwk" }).type).toBe("public");
      }),
      { numRuns: 300 },
    );
  });
});

it("takes every Ed25519 key that is generated", () => {
  for (let made = 0; made < 50; made += 1) {
    expect(dropReason(generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" }))).toBeUndefined();
  }
});

describe("a static set", () => {
  it.each(["ES256", "ES384", "ES512", "RS256", "PS256", "EdDSA"] as const)("verifies %s by jose", async (alg) => {
    const key = testKey("k", alg);
    const keySet = createStaticKeySet({ keys: [testKey("other").jwk, key.jwk] });
    await expect(jwtVerify(await key.token(), keySet)).resolves.toBeDefined();
    await expect(jwtVerify(await testKey("k", alg).token(), keySet)).rejects.toMatchObject({
      code: "ERR_JWS_SIGNATURE_VERIFICATION_FAILED",
    });
    await expect(jwtVerify(await testKey("x", alg).token(), keySet)).rejects.toMatchObject({ code: "unknown_kid" });
  });

  it.each([
    ["EdDSA", "Ed25519"],
    ["Ed25519", "EdDSA"],
    ["Ed25519", "Ed25519"],
    ["Ed25519", undefined],
  ])("verifies a header of %s by an entry of %s", async (header, entry) => {
    const key = testKey("k", "EdDSA");
    const keySet = createStaticKeySet({ keys: [{ ...key.jwk, alg: entry }] });
    const token = await new SignJWT({}).setProtectedHeader({ alg: header, kid: "k" }).sign(key.privateKey);
    await expect(jwtVerify(token, keySet)).resolves.toBeDefined();
    const stranger = testKey("k", "EdDSA").privateKey;
    const forged = await new SignJWT({}).setProtectedHeader({ alg: header, kid: "k" }).sign(stranger);
    await expect(jwtVerify(forged, keySet)).rejects.toMatchObject({ code: "ERR_JWS_SIGNATURE_VERIFICATION_FAILED" });
  });

  it("verifies by an RSA key whose n has its sign", async () => {
    const key = testKey("k", "RS256");
    const keySet = createStaticKeySet({ keys: [{ ...key.jwk, n: respelled(key.jwk.n, longer) }] });
    await expect(jwtVerify(await key.token(), keySet)).resolves.toBeDefined();
  });

  it.each<[string, (jwk: JsonWebKey) => unknown]>([
    ["the very same entry", (jwk) => ({ ...jwk })],
    ["the same with its members in another order", (jwk) => Object.fromEntries(Object.entries(jwk).toReversed())],
    ["the same with members that say nothing", (jwk) => ({ ...jwk, key_ops: null, x5c: null })],
    ["the same without alg", ({ alg: _alg, ...jwk }) => jwk],
    ["the same without use", ({ use: _use, ...jwk }) => jwk],
  ])("takes %s a second time for one key", async (_name, again) => {
    const key = testKey("k");
    const keySet = createStaticKeySet({ keys: [key.jwk, again(key.jwk)] });
    await expect(jwtVerify(await key.token(), keySet)).resolves.toBeDefined();
  });

  it("takes one RSA key under one kid for each of its algs", async () => {
    const key = testKey("k", "RS256");
    const keySet = createStaticKeySet({ keys: [key.jwk, { ...key.jwk, alg: "PS256" }] });
    for (const alg of ["RS256", "PS256"]) {
      const token = await new SignJWT({}).setProtectedHeader({ alg, kid: "k" }).sign(key.privateKey);
      await expect(jwtVerify(token, keySet)).resolves.toBeDefined();
    }
  });

  it.each<[string, object, string]>([
    ["use enc", { ...p256, use: "enc" }, 'not_for_signatures (the member "use" is not "sig")'],
    ["no key_ops", { ...p256, key_ops: [] }, 'not_for_signatures (the member "key_ops" does not contain "verify")'],
    [
      "a padded coordinate",
      { ...p256, x: `${p256.x}=` },
      'malformed (key: the member "x" is not canonical unpadded base64url)',
    ],
    ["a private key", { ...p256, d: "c2VjcmV0" }, 'private (it has the private member "d")'],
    ["a symmetric key", { kty: "oct", kid: "k", k: "c2VjcmV0" }, 'symmetric (the member "kty" is "oct")'],
    ["an AKP key", { kty: "AKP", kid: "k", pub: "AAAA" }, 'unsupported_kty (the member "kty" is not RSA, EC or OKP)'],
    [
      "an unknown alg",
      { ...p256, alg: "ESB256" },
      'unsupported_alg (the member "alg" is not a supported signature algorithm)',
    ],
  ])("says of %s that it is there, and why it is not used", async (_name, entry, reason) => {
    const keySet = createStaticKeySet({ keys: [entry, testKey("other").jwk] });
    const error: unknown = await keySet({ alg: "ES256", kid: "k" }).catch((thrown: unknown) => thrown);
    const message = `the set has this kid, but its entry was left out: ${reason}`;
    expect(error).toMatchObject({ name: "KeySetError", code: "key_left_out", message });
    expect(inspect(error, { depth: 9 })).not.toContain("c2VjcmV0");
  });

  it("says why no entry of a set can be used, each reason once, and no value", () => {
    const entries = [
      { ...p256, d: "c2VjcmV0" },
      { ...p256, use: "enc" },
      { ...p256, kid: "l", use: "enc" },
    ];
    expect(() => createStaticKeySet({ keys: entries })).toThrow(
      expect.objectContaining({
        code: "no_usable_key",
        message:
          "none of the 3 keys can verify a signature: " +
          'private (it has the private member "d"); not_for_signatures (the member "use" is not "sig")',
      }),
    );
  });

  it("says of a kid whose key does not fit that another entry of it was left out", async () => {
    const keySet = createStaticKeySet({ keys: [p384, { ...p256, use: "enc" }] });
    await expect(keySet({ alg: "ES256", kid: "k" })).rejects.toMatchObject({
      code: "no_suitable_key",
      message:
        "the key of this kid does not fit the alg, and another entry was left out: " +
        'not_for_signatures (the member "use" is not "sig")',
    });
  });

  it("says of a header without a kid that fits no key why other entries were left out", async () => {
    const keySet = createStaticKeySet({ keys: [p384, { ...p256, use: "enc" }] }, { allowMissingKid: true });
    await expect(keySet({ alg: "ES256" })).rejects.toMatchObject({
      code: "unknown_kid",
      message:
        "no key in the set fits the header " +
        '(left out of the set: not_for_signatures (the member "use" is not "sig"))',
    });
  });

  it("says of an unknown kid why entries without a usable kid were left out", async () => {
    const keySet = createStaticKeySet({ keys: [{ ...p256, kid: 7 }, { ...p256, kid: "8", use: "enc" }, p384] });
    await expect(keySet({ alg: "ES256", kid: "7" })).rejects.toMatchObject({
      code: "unknown_kid",
      message: 'no key with this kid (left out of the set: malformed (the member "kid" is not a string, or is empty))',
    });
  });

  it("says both reasons of two entries, and neither if a third one can be used", async () => {
    const unused = [
      { ...p256, use: "enc" },
      { ...p384, y: p384.x },
    ];
    const other = testKey("other").jwk;
    await expect(createStaticKeySet({ keys: [...unused, other] })({ alg: "ES256", kid: "k" })).rejects.toMatchObject({
      code: "key_left_out",
      message: expect.stringMatching(/: not_for_signatures \(.*\); malformed \(.*\)$/),
    });
    const keySet = createStaticKeySet({ keys: [...unused, p256] });
    await expect(keySet({ alg: "ES256", kid: "k" })).resolves.toBeDefined();
  });

  it("accepts a token without kid only if allowed and exactly one key fits", async () => {
    const key = testKey("k");
    const token = await new SignJWT({}).setProtectedHeader({ alg: "ES256" }).sign(key.privateKey);
    await expect(jwtVerify(token, createStaticKeySet({ keys: [key.jwk] }))).rejects.toMatchObject({
      code: "missing_kid",
    });
    await expect(
      jwtVerify(token, createStaticKeySet({ keys: [key.jwk] }, { allowMissingKid: true })),
    ).resolves.toBeDefined();
  });

  it("is refused without a usable key, or with too many", () => {
    expect(() => createStaticKeySet({ keys: [] })).toThrow(expect.objectContaining({ code: "no_usable_key" }));
    expect(() => createStaticKeySet({ keys: Array.from({ length: 65 }, () => p256) })).toThrow(
      expect.objectContaining({ code: "invalid_jwks" }),
    );
  });
});
