import { createECDH, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { runInNewContext } from "node:vm";
import crc32c from "crc-32/crc32c.js";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ecdsaDerToRaw } from "@signpost/core";
import type { GcpKmsPublicKeyResponse, GcpKmsSignResponse } from "@signpost/gcp-kms";
import { readPublicKey, readSignature, checksumOf } from "../src/answers.ts";

const NAME = "projects/p/locations/l/keyRings/r/cryptoKeys/k/cryptoKeyVersions/3";
const OTHER = NAME.replace(/3$/, "4");
const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
const signature = sign("sha256", randomBytes(20), pair.privateKey);
const crc = (bytes: Uint8Array): string => String(crc32c.buf(bytes) >>> 0);

const goodAnswer: GcpKmsSignResponse = {
  name: NAME,
  signature,
  signatureCrc32c: { value: crc(signature) },
  verifiedDigestCrc32c: true,
};

describe("CRC32C", () => {
  // RFC 3720 appendix B.4, and the check value of the CRC catalogue.
  test.each([
    ["32 bytes of zeroes", Buffer.alloc(32), 0x8a9136aa],
    ["32 bytes of ones", Buffer.alloc(32, 0xff), 0x62a8ab43],
    ["32 incrementing bytes", Buffer.from(Array.from({ length: 32 }, (_, index) => index)), 0x46dd794e],
    ["123456789", Buffer.from("123456789"), 0xe3069283],
    ["nothing", Buffer.alloc(0), 0],
  ])("of %s", (_what, bytes, expected) => expect(checksumOf(bytes)).toBe(expected));

  test("is never negative", () => {
    fc.assert(fc.property(fc.uint8Array(), (bytes) => checksumOf(bytes) >= 0 && checksumOf(bytes) <= 0xffffffff));
  });
});

describe("an answer to a signature", () => {
  test("that is whole gives r‖s", () => {
    expect(readSignature(goodAnswer, NAME)).toEqual(ecdsaDerToRaw(signature));
  });

  test("may give its checksum as a number", () => {
    const answer = { ...goodAnswer, signatureCrc32c: { value: checksumOf(signature) } };
    expect(readSignature(answer, NAME)).toHaveLength(64);
  });

  test("of another realm is read all the same", () => {
    const bytes = runInNewContext(`Uint8Array.from([${[...signature].join()}])`) as Uint8Array;
    expect(readSignature({ ...goodAnswer, signature: bytes }, NAME)).toEqual(ecdsaDerToRaw(signature));
  });

  test("that names the project by its number says what to write", () => {
    const byNumber = NAME.replace("/p/", "/123456789012/");
    for (const [asked, answered] of [
      [NAME, byNumber],
      [byNumber, NAME],
    ] as const) {
      expect(() => readSignature({ ...goodAnswer, name: answered }, asked)).toThrow(
        expect.objectContaining({ code: "wrong_key", message: expect.stringMatching(/; name the project as the/) }),
      );
    }
    const otherProject = NAME.replace("/p/", "/q/");
    expect(() => readSignature({ ...goodAnswer, name: otherProject }, NAME)).toThrow(/answered for \S+$/);
  });

  test.each<[string, unknown]>([
    ["a bigint", BigInt(checksumOf(signature))],
    ["an object that prints it", { toString: () => String(checksumOf(signature)) }],
  ])("may give its checksum as %s", (_what, value) => {
    const signatureCrc32c = { value: value as string };
    expect(readSignature({ ...goodAnswer, signatureCrc32c }, NAME)).toHaveLength(64);
  });

  test.each([
    ["with a space", ` ${crc(signature)}`],
    ["with decimals", `${crc(signature)}.0`],
    ["in hexadecimal", `0x${checksumOf(signature).toString(16)}`],
    ["with an exponent", `${crc(signature)}e0`],
  ])("is refused with a checksum that is right but written %s", (_how, value) => {
    expect(() => readSignature({ ...goodAnswer, signatureCrc32c: { value } }, NAME)).toThrow(/does not match/);
  });

  const zero = Buffer.from("3006020100020101", "hex");
  const trailing = Buffer.concat([signature, Buffer.of(0)]);
  test.each<[string, Partial<GcpKmsSignResponse>, string, boolean, RegExp]>([
    ["no signature", { signature: undefined }, "integrity", true, /was answered without signature$/],
    ["an empty signature", { signature: Buffer.alloc(0) }, "integrity", true, /was answered without signature$/],
    ["a name that is no text", { name: 5 as never }, "integrity", true, /was answered without name$/],
    ["no name", { name: undefined }, "integrity", true, /was answered without name$/],
    ["an empty name", { name: "" }, "integrity", true, /was answered without name$/],
    ["another version's name", { name: OTHER }, "wrong_key", false, /answered for .*\/4$/],
    ["a damaged name", { name: NAME.slice(0, 9) }, "integrity", true, /its name is not the name of a version$/],
    [
      "no word on the digest",
      { verifiedDigestCrc32c: undefined },
      "integrity",
      true,
      /was answered without verifiedDigestCrc32c$/,
    ],
    [
      "null on the digest",
      { verifiedDigestCrc32c: null },
      "integrity",
      true,
      /was answered without verifiedDigestCrc32c$/,
    ],
    ["a digest not verified", { verifiedDigestCrc32c: false }, "integrity", true, /did not receive the digest's/],
    ["no checksum", { signatureCrc32c: undefined }, "integrity", true, /was answered without signatureCrc32c$/],
    ["a null checksum", { signatureCrc32c: null }, "integrity", true, /was answered without signatureCrc32c$/],
    ["a checksum without a value", { signatureCrc32c: {} }, "integrity", true, /was answered without signatureCrc32c$/],
    ["a wrong checksum", { signatureCrc32c: { value: "1" } }, "integrity", true, /signatureCrc32c does not match/],
    ["a checksum of zero", { signatureCrc32c: { value: "0" } }, "integrity", true, /does not match/],
    ["an empty checksum", { signatureCrc32c: { value: "" } }, "integrity", true, /does not match/],
    ["a negative checksum", { signatureCrc32c: { value: crc32c.buf(signature) | 0x80000000 } }, "integrity", true, /./],
    [
      "a signature with a byte more",
      { signature: trailing, signatureCrc32c: { value: crc(trailing) } },
      "integrity",
      false,
      /^AsymmetricSign with projects\/.*\/cryptoKeyVersions\/\d+: signature: /,
    ],
    [
      "a signature whose r is zero",
      { signature: zero, signatureCrc32c: { value: crc(zero) } },
      "bad_signature",
      false,
      /^AsymmetricSign with projects\/.*\/cryptoKeyVersions\/\d+: signature: /,
    ],
  ])("with %s is refused", (_what, change, code, transient, message) => {
    const check = (): Uint8Array => readSignature({ ...goodAnswer, ...change }, NAME);
    expect(check).toThrow(expect.objectContaining({ name: "SignerError", code, transient }));
    expect(check).toThrow(message);
  });

  test("that is nothing is refused", () => {
    for (const answer of [undefined, null, 5]) {
      expect(() => readSignature(answer as never, NAME)).toThrow(
        expect.objectContaining({ name: "SignerError", code: "integrity", transient: true }),
      );
    }
  });

  test("with any bit of the signature flipped is refused", () => {
    fc.assert(
      fc.property(fc.nat(signature.length * 8 - 1), (bit) => {
        const flipped = Buffer.from(signature);
        flipped.writeUInt8(flipped.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
        expect(() => readSignature({ ...goodAnswer, signature: flipped }, NAME)).toThrow(
          expect.objectContaining({ code: "integrity", transient: true }),
        );
      }),
    );
  });
});

describe("an answer with a public key", () => {
  const pem = String(pair.publicKey.export({ type: "spki", format: "pem" }));
  const goodKey: GcpKmsPublicKeyResponse = {
    name: NAME,
    algorithm: "EC_SIGN_P256_SHA256",
    pem,
    pemCrc32c: { value: crc(Buffer.from(pem)) },
  };
  const withPem = (text: string): GcpKmsPublicKeyResponse => ({
    ...goodKey,
    pem: text,
    pemCrc32c: { value: crc(Buffer.from(text)) },
  });

  test("may say nothing of its protection level that can be read", () => {
    expect(readPublicKey({ ...goodKey, protectionLevel: {} as never }, NAME).notes).toEqual([
      "protection level unknown",
    ]);
  });

  test("that is whole gives the key", () => {
    const { x, y } = pair.publicKey.export({ format: "jwk" });
    expect(readPublicKey({ ...goodKey, protectionLevel: "HSM" }, NAME)).toEqual({
      name: NAME,
      publicKey: { kty: "EC", crv: "P-256", x, y },
      notes: ["protection level HSM"],
    });
  });

  const p384 = String(
    generateKeyPairSync("ec", { namedCurve: "P-384" }).publicKey.export({ type: "spki", format: "pem" }),
  );
  const ecdh = createECDH("prime256v1");
  ecdh.generateKeys();
  test.each<[string, GcpKmsPublicKeyResponse, string, boolean, RegExp]>([
    ["a PEM that is no text", { ...goodKey, pem: 5 as never }, "integrity", true, /was answered without pem$/],
    ["an algorithm that is no word", { ...goodKey, algorithm: {} as never }, "integrity", true, /without algorithm$/],
    ["no member at all", undefined as never, "integrity", true, /was answered without any member$/],
    ["no name", { ...goodKey, name: "" }, "integrity", true, /was answered without name$/],
    ["another name", { ...goodKey, name: OTHER }, "wrong_key", false, /answered for/],
    ["no algorithm", { ...goodKey, algorithm: undefined }, "integrity", true, /was answered without algorithm$/],
    [
      "another curve",
      { ...goodKey, algorithm: "EC_SIGN_P384_SHA384" },
      "unsupported_key",
      false,
      /EC_SIGN_P384_SHA384, expected EC_SIGN_P256_SHA256/,
    ],
    [
      "a key to encrypt with",
      { ...goodKey, algorithm: "RSA_DECRYPT_OAEP_2048_SHA256" },
      "unsupported_key",
      false,
      /RSA_DECRYPT/,
    ],
    ["no PEM", { ...goodKey, pem: "" }, "integrity", true, /was answered without pem$/],
    ["no checksum", { ...goodKey, pemCrc32c: null }, "integrity", true, /was answered without pemCrc32c$/],
    ["a damaged PEM", { ...goodKey, pem: pem.replace("M", "N") }, "integrity", true, /pemCrc32c does not match/],
    [
      "the PEM of another key type",
      withPem(p384),
      "unsupported_key",
      false,
      /^GetPublicKey of projects\/.*\/cryptoKeyVersions\/\d+: pem: /,
    ],
    [
      "no PEM but its bytes",
      withPem(ecdh.getPublicKey("base64")),
      "integrity",
      false,
      /^GetPublicKey of projects\/.*\/cryptoKeyVersions\/\d+: pem: /,
    ],
  ])("with %s is refused", (_what, answer, code, transient, message) => {
    const check = (): unknown => readPublicKey(answer, NAME);
    expect(check).toThrow(expect.objectContaining({ name: "SignerError", code, transient }));
    expect(check).toThrow(message);
  });
});
