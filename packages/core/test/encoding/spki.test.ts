import { createPublicKey, generateKeyPairSync } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jwkToSpki, spkiToJwk } from "../../src/encoding/spki.ts";
import {
  bits,
  concat,
  EC,
  encodingErrorOf,
  equal,
  expectEncodingError,
  hex,
  keyOfScalar,
  NAMED_P256,
  pemOf,
  RARE_SCALARS,
  singleByteMutations,
  spki,
  tlv,
  withByte,
} from "./support.ts";
import type { EncodingErrorCode } from "../../src/errors.ts";

const key = keyOfScalar(7_654_321);
const valid = spki(key.point);

describe("keys made by node:crypto", () => {
  it("have the same JWK, read from DER or PEM, and the same SPKI back", () => {
    for (let count = 0; count < 300; count += 1) {
      const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
      const jwk = publicKey.export({ format: "jwk" });
      const der = publicKey.export({ type: "spki", format: "der" });
      expect(spkiToJwk(der)).toEqual(jwk);
      expect(spkiToJwk(publicKey.export({ type: "spki", format: "pem" }).toString())).toEqual(jwk);
      expect(jwkToSpki(jwk)).toEqual(new Uint8Array(der));
    }
  });

  it.each(Object.entries(RARE_SCALARS))("keep coordinates of 32 bytes when %s", (_property, scalar) => {
    const rare = keyOfScalar(scalar);
    const der = createPublicKey({ key: rare.jwk, format: "jwk" }).export({ type: "spki", format: "der" });
    expect(spkiToJwk(der)).toEqual(rare.jwk);
    expect(spkiToJwk(spki(rare.compressed))).toEqual(rare.jwk);
    expect(jwkToSpki(rare.jwk)).toEqual(new Uint8Array(der));
  });

  it("have the same JWK from a compressed point", () => {
    const der = spki(key.compressed);
    expect(createPublicKey({ key: Buffer.from(der), format: "der", type: "spki" }).export({ format: "jwk" })).toEqual(
      key.jwk,
    );
    expect(spkiToJwk(der)).toEqual(key.jwk);
    expect(spkiToJwk(pemOf(der))).toEqual(key.jwk);
  });
});

describe("spkiToJwk", () => {
  it("gives exactly { kty, crv, x, y }, frozen", () => {
    const jwk = spkiToJwk(valid);
    expect(Object.keys(jwk)).toEqual(["kty", "crv", "x", "y"]);
    expect(Object.isFrozen(jwk)).toBe(true);
  });

  it("reads a Buffer inside a larger one and leaves it as it was", () => {
    const larger = Buffer.concat([Buffer.alloc(3, 0x30), valid, Buffer.alloc(3, 0x30)]);
    const before = Buffer.from(larger);
    expect(spkiToJwk(larger.subarray(3, 3 + valid.length))).toEqual(key.jwk);
    expect(larger).toEqual(before);
  });

  const { point } = key;
  const algorithm = tlv(0x30, EC, NAMED_P256);
  const other = (type: "rsa" | "ed25519"): Uint8Array =>
    (type === "rsa"
      ? generateKeyPairSync("rsa", { modulusLength: 2048 })
      : generateKeyPairSync("ed25519")
    ).publicKey.export({ type: "spki", format: "der" });
  const curve = (namedCurve: string): Uint8Array =>
    generateKeyPairSync("ec", { namedCurve }).publicKey.export({ type: "spki", format: "der" });
  const explicit = generateKeyPairSync("ec", { namedCurve: "P-256", paramEncoding: "explicit" }).publicKey;
  const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });

  const table: readonly (readonly [string, unknown, EncodingErrorCode, RegExp])[] = [
    ["nothing", new Uint8Array(), "invalid_spki", /^spki: /],
    ["null", null, "invalid_spki", /^spki: expected a Uint8Array, got null$/],
    ["an object", key.jwk, "invalid_spki", /expected a Uint8Array, got an object$/],
    ["bytes that are no ASN.1", hex("ffffffffff"), "invalid_spki", /^spki: /],
    ["more than any key needs", new Uint8Array(20_000), "invalid_spki", /longer than 16384 bytes/],
    ["one byte more than any key needs", new Uint8Array(16_385), "invalid_spki", /longer than 16384 bytes/],
    [
      "as many bytes as a key may have",
      new Uint8Array(16_384),
      "invalid_spki",
      /not a SubjectPublicKeyInfo, or not DER$/,
    ],
    ["a point of 96 bytes", tlv(0x30, algorithm, bits(new Uint8Array(96).fill(4))), "invalid_spki", /point/],
    [
      "a point of 97 bytes",
      tlv(0x30, algorithm, bits(new Uint8Array(97).fill(4))),
      "invalid_spki",
      /not a SubjectPublicKeyInfo, not DER, or there are bytes after the key$/,
    ],
    ["a point alone", point, "invalid_spki", /not/],
    [
      "a private key",
      pair.privateKey.export({ type: "pkcs8", format: "der" }),
      "invalid_spki",
      /not a SubjectPublicKeyInfo/,
    ],
    [
      "a SEC 1 private key",
      pair.privateKey.export({ type: "sec1", format: "der" }),
      "invalid_spki",
      /not a SubjectPublicKeyInfo/,
    ],

    // Other keys
    ["an RSA key", other("rsa"), "unsupported_key", /^spki: the key's algorithm is not id-ecPublicKey$/],
    ["an Ed25519 key", other("ed25519"), "unsupported_key", /not id-ecPublicKey/],
    ["a P-384 key", curve("P-384"), "unsupported_key", /^spki: expected the named curve P-256$/],
    ["a P-521 key", curve("P-521"), "unsupported_key", /expected the named curve P-256/],
    ["a secp256k1 key", curve("secp256k1"), "unsupported_key", /expected the named curve P-256/],
    [
      "P-256 in explicit parameters",
      explicit.export({ type: "spki", format: "der" }),
      "unsupported_key",
      /expected the named curve P-256/,
    ],
    [
      "implicit parameters (NULL)",
      tlv(0x30, tlv(0x30, EC, hex("0500")), bits(point)),
      "unsupported_key",
      /expected the named curve P-256/,
    ],
    ["no parameters", tlv(0x30, tlv(0x30, EC), bits(point)), "unsupported_key", /expected the named curve P-256/],
    [
      "id-ecDH (a key that may not sign)",
      tlv(0x30, tlv(0x30, hex("06052b8104010c"), NAMED_P256), bits(point)),
      "unsupported_key",
      /not id-ecPublicKey/,
    ],

    // DER, and nothing else
    ["one trailing byte", concat(valid, hex("00")), "invalid_spki", /not DER, or there are bytes after the key/],
    ["a second key behind it", concat(valid, valid), "invalid_spki", /not DER, or there are bytes after the key/],
    ["a SET for the outer SEQUENCE", tlv(0x31, algorithm, bits(point)), "invalid_spki", /not/],
    ["a SET for the inner SEQUENCE", tlv(0x30, tlv(0x31, EC, NAMED_P256), bits(point)), "invalid_spki", /not/],
    ["a third element", tlv(0x30, algorithm, bits(point), hex("0500")), "invalid_spki", /not a SubjectPublicKeyInfo/],
    [
      "a third element of the algorithm",
      tlv(0x30, tlv(0x30, EC, NAMED_P256, hex("0500")), bits(point)),
      "invalid_spki",
      /not DER/,
    ],
    ["long-form length", concat(hex("308159"), algorithm, bits(point)), "invalid_spki", /not DER/],
    [
      "long-form length inside",
      tlv(0x30, concat(hex("308113"), EC, NAMED_P256), bits(point)),
      "invalid_spki",
      /not DER/,
    ],
    ["indefinite length", concat(hex("3080"), algorithm, bits(point), hex("0000")), "invalid_spki", /not DER/],
    [
      "indefinite length inside",
      tlv(0x30, concat(hex("3080"), EC, NAMED_P256, hex("0000")), bits(point)),
      "invalid_spki",
      /not DER/,
    ],
    [
      "a padded OID",
      tlv(0x30, tlv(0x30, hex("0608802a8648ce3d0201"), NAMED_P256), bits(point)),
      "invalid_spki",
      /not DER/,
    ],
    [
      "an OCTET STRING for the BIT STRING",
      tlv(0x30, algorithm, tlv(0x04, hex("00"), point)),
      "invalid_spki",
      /not a SubjectPublicKeyInfo/,
    ],
    ["unused bits", tlv(0x30, algorithm, tlv(0x03, hex("01"), point)), "invalid_spki", /^spki: /],
    [
      "a BIT STRING in two parts",
      tlv(0x30, algorithm, tlv(0x23, bits(point.subarray(0, 33)), bits(point.subarray(33)))),
      "invalid_spki",
      /^spki: /,
    ],
    ["an empty BIT STRING", tlv(0x30, algorithm, hex("0300")), "invalid_spki", /^spki: /],

    // The point
    [
      "a hybrid point",
      spki(withByte(point, 0, 0x06)),
      "invalid_spki",
      /^spki: the point is neither uncompressed \(04\) nor compressed \(02, 03\)$/,
    ],
    ["the point at infinity", spki(hex("00")), "invalid_spki", /neither uncompressed/],
    ["x‖y without a format byte", spki(point.subarray(1)), "invalid_spki", /neither uncompressed/],
    ["a point in an OCTET STRING", spki(tlv(0x04, point)), "invalid_spki", /neither uncompressed/],
    ["no point", spki(new Uint8Array()), "invalid_spki", /neither uncompressed/],
    [
      "a point off the curve",
      spki(withByte(point, 64, (point[64] ?? 0) ^ 1)),
      "invalid_spki",
      /^spki: the point is not on the curve P-256$/,
    ],
    [
      "a compressed x of no point",
      spki(concat(hex("02"), new Uint8Array(31), hex("01"))),
      "invalid_spki",
      /not on the curve/,
    ],
  ];

  it.each(table)("refuses %s", (_name, input, code, message) => {
    expectEncodingError(() => Reflect.apply(spkiToJwk, undefined, [input]), code, message);
  });

  it.each([
    ["an uncompressed", valid],
    ["a compressed", spki(key.compressed)],
  ])("refuses a key with %s point truncated at every byte", (_form, der) => {
    for (let length = 0; length < der.length; length += 1) {
      expectEncodingError(() => spkiToJwk(der.subarray(0, length)), "invalid_spki", /^spki: /);
    }
  });

  it("refuses every single-byte mutation of a key with an uncompressed point", () => {
    const accepted: string[] = [];
    for (const mutation of singleByteMutations(valid)) {
      if (encodingErrorOf(() => spkiToJwk(mutation)) === undefined)
        accepted.push(Buffer.from(mutation).toString("hex"));
    }
    expect(accepted).toEqual([]);
  });

  it("takes a mutation of a compressed point only as the other point that it says", () => {
    const accepted = { count: 0 };
    for (const mutation of singleByteMutations(spki(key.compressed))) {
      if (encodingErrorOf(() => spkiToJwk(mutation)) !== undefined) continue;
      accepted.count += 1;
      const { x, y } = spkiToJwk(mutation);
      const parity = (Buffer.from(y, "base64url")[31] ?? 0) & 1;
      const again = spki(concat(Uint8Array.from([0x02 | parity]), Buffer.from(x, "base64url")));
      if (!equal(again, mutation)) expect.fail(Buffer.from(mutation).toString("hex"));
    }
    // Half of all x are on the curve, and the other parity is.
    expect(accepted.count).toBeGreaterThan(0);
  });

  it("throws only EncodingError, for any bytes", () => {
    const edit = fc.record({
      at: fc.nat(),
      remove: fc.integer({ min: 0, max: 4 }),
      insert: fc.uint8Array({ maxLength: 4 }),
    });
    const damaged = fc.array(edit, { minLength: 1, maxLength: 6 }).map((edits) =>
      edits.reduce((der, { at, remove, insert }) => {
        const from = at % (der.length + 1);
        return concat(der.subarray(0, from), insert, der.subarray(from + remove));
      }, valid),
    );
    fc.assert(
      fc.property(fc.oneof(damaged, fc.uint8Array({ maxLength: 120 })), (bytes) => {
        encodingErrorOf(() => spkiToJwk(bytes));
      }),
      { numRuns: 10_000 },
    );
  });
});
