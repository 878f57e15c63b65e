import { createECDH, createPublicKey } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ecPointToJwk } from "../../src/encoding/ec-point.ts";
import {
  concat,
  encodingErrorOf,
  equal,
  expectEncodingError,
  fixed,
  hex,
  keyOfScalar,
  PRIME,
  RARE_SCALARS,
  tlv,
  withByte,
} from "./support.ts";
import type { KnownKey } from "./support.ts";

const key = keyOfScalar(1_234_567);

/** The forms by their number of bytes, made from one key. */
const forms: readonly (readonly [name: string, of: (known: KnownKey) => Uint8Array])[] = [
  ["64 bytes: x‖y without a format byte", ({ x, y }) => concat(x, y)],
  ["65 bytes: uncompressed", ({ point }) => point],
  ["33 bytes: compressed", ({ compressed }) => compressed],
  ["67 bytes: uncompressed in an OCTET STRING", ({ point }) => tlv(0x04, point)],
  ["35 bytes: compressed in an OCTET STRING", ({ compressed }) => tlv(0x04, compressed)],
];

describe.each(forms)("a point of %s", (_name, of) => {
  it("becomes exactly { kty, crv, x, y }, frozen", () => {
    const jwk = ecPointToJwk(of(key));
    expect(jwk).toEqual(key.jwk);
    expect(Object.keys(jwk)).toEqual(["kty", "crv", "x", "y"]);
    expect(Object.isFrozen(jwk)).toBe(true);
  });

  it.each(Object.entries(RARE_SCALARS))("keeps 32 bytes when %s", (_property, scalar) => {
    const rare = keyOfScalar(scalar);
    expect(ecPointToJwk(of(rare))).toEqual(rare.jwk);
  });

  it("is the key that node:crypto makes of it", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 31 - 1 }), (scalar) => {
        const known = keyOfScalar(scalar);
        const { x, y } = createPublicKey({ key: { ...ecPointToJwk(of(known)) }, format: "jwk" }).export({
          format: "jwk",
        });
        expect({ x, y }).toEqual({ x: known.jwk.x, y: known.jwk.y });
      }),
      { numRuns: 300 },
    );
  });

  it("is read from a Buffer inside a larger one, and left as it was", () => {
    const point = of(key);
    const larger = Buffer.concat([Buffer.alloc(5, 4), point, Buffer.alloc(5, 4)]);
    const before = Buffer.from(larger);
    expect(ecPointToJwk(larger.subarray(5, 5 + point.length))).toEqual(key.jwk);
    expect(larger).toEqual(before);
  });

  it("is refused when its last byte is missing or another one follows", () => {
    const point = of(key);
    expectEncodingError(() => ecPointToJwk(point.subarray(0, -1)), "invalid_point", /^point: /);
    expectEncodingError(() => ecPointToJwk(concat(point, hex("00"))), "invalid_point", /^point: /);
  });
});

describe("the length decides, never a leading tag byte", () => {
  // The scalars name keys whose first bytes look like another form.
  it.each([
    ["64 bytes that begin with a format byte", 106, "04", 64],
    ["64 bytes that begin like an OCTET STRING of the 62 that follow", 55_901, "043e", 64],
    ["64 bytes that begin like a wrapped uncompressed point", 52_026, "0441", 64],
    ["64 bytes that begin like a wrapped point without format byte", 92_209, "0440", 64],
    ["65 bytes that begin like an OCTET STRING of the 63 that follow", 111, "043f", 65],
    ["65 bytes that begin like a wrapped uncompressed point", 37, "0441", 65],
    ["64 bytes that begin like a SEQUENCE", 31, "30", 64],
  ])("%s", (_name, scalar, prefix, length) => {
    const { point, jwk } = keyOfScalar(scalar);
    const input = length === 65 ? point : point.subarray(1);
    expect(Buffer.from(input).toString("hex").startsWith(prefix)).toBe(true);
    expect(ecPointToJwk(input)).toEqual(jwk);
  });

  it("20,000 random points without a format byte are all read as they are", () => {
    const ecdh = createECDH("prime256v1");
    const misread: string[] = [];
    for (let count = 0; count < 20_000; count += 1) {
      const affine = ecdh.generateKeys().subarray(1);
      const { x, y } = ecPointToJwk(affine);
      const read = Buffer.concat([Buffer.from(x, "base64url"), Buffer.from(y, "base64url")]);
      if (!equal(read, affine)) misread.push(affine.toString("hex"));
    }
    expect(misread).toEqual([]);
  });
});

describe("a point is refused", () => {
  /** x = 5 is on the curve, and small enough that x + p also fits 32 bytes. */
  const small = createPublicKey({
    key: Buffer.concat([hex("3039301306072a8648ce3d020106082a8648ce3d030107032200 02"), fixed(5n)]),
    format: "der",
    type: "spki",
  }).export({ format: "jwk" });
  const smallY = new Uint8Array(Buffer.from(small.y ?? "", "base64url"));
  const offCurve = withByte(key.point, 64, (key.point[64] ?? 0) ^ 1);

  const table: readonly (readonly [string, unknown, RegExp])[] = [
    ["empty", new Uint8Array(), /^point: expected a P-256 point of 64, 65, 33, 67 or 35 bytes, got 0$/],
    ["the point at infinity", hex("00"), /got 1$/],
    ["x alone", key.x, /got 32$/],
    ["in a BIT STRING", tlv(0x03, hex("00"), key.point), /got 68$/],
    ["x‖y in an OCTET STRING", tlv(0x04, key.x, key.y), /got 66$/],
    [
      "a whole SubjectPublicKeyInfo",
      concat(hex("3059301306072a8648ce3d020106082a8648ce3d030107034200"), key.point),
      /got 91$/,
    ],
    ["a P-384 point", new Uint8Array(97).fill(4), /got 97$/],
    ["wrapped twice", tlv(0x04, tlv(0x04, key.point)), /got 69$/],
    ["wrapped with a long-form length", concat(hex("048141"), key.point), /got 68$/],
    ["67 bytes with another tag", tlv(0x30, key.point), /67 bytes that are not a DER OCTET STRING around a point/],
    ["67 bytes with another length", concat(hex("0440"), key.point), /67 bytes that are not a DER OCTET STRING/],
    ["35 bytes with another tag", tlv(0x03, key.compressed), /35 bytes that are not a DER OCTET STRING/],
    ["35 bytes with another length", concat(hex("0420"), key.compressed), /35 bytes that are not a DER OCTET STRING/],
    [
      "hybrid, even",
      withByte(key.point, 0, 0x06),
      /^point: the point is neither uncompressed \(04\) nor compressed \(02, 03\)$/,
    ],
    ["hybrid, odd", withByte(key.point, 0, 0x07), /neither uncompressed/],
    ["hybrid in an OCTET STRING", tlv(0x04, withByte(key.point, 0, 0x06)), /neither uncompressed/],
    ["65 bytes with a compressed format byte", withByte(key.point, 0, 0x02), /neither uncompressed/],
    ["65 bytes with format byte 00", withByte(key.point, 0, 0x00), /neither uncompressed/],
    ["33 bytes with the uncompressed format byte", withByte(key.compressed, 0, 0x04), /neither uncompressed/],
    ["33 bytes with format byte 05", withByte(key.compressed, 0, 0x05), /neither uncompressed/],
    ["off the curve", offCurve, /^point: the point is not on the curve P-256$/],
    ["off the curve without a format byte", offCurve.subarray(1), /not on the curve/],
    ["off the curve in an OCTET STRING", tlv(0x04, offCurve), /not on the curve/],
    ["x and y exchanged", concat(key.y, key.x), /not on the curve/],
    ["zero", new Uint8Array(64), /not on the curve/],
    ["compressed x of no point", concat(hex("02"), fixed(1n)), /not on the curve/],
    ["x not below p", concat(fixed(5n + PRIME), smallY), /not on the curve/],
    ["compressed x not below p", concat(hex("02"), fixed(5n + PRIME)), /not on the curve/],
    ["all ones", new Uint8Array(64).fill(0xff), /not on the curve/],
    ["a string", Buffer.from(key.point).toString("hex"), /^point: expected a Uint8Array, got a string$/],
    ["null", null, /expected a Uint8Array, got null$/],
  ];

  it.each(table)("%s", (_name, point, message) => {
    expectEncodingError(() => Reflect.apply(ecPointToJwk, undefined, [point]), "invalid_point", message);
  });

  it("while the small x that these are made from is accepted", () => {
    expect(ecPointToJwk(concat(fixed(5n), smallY))).toMatchObject({ x: small.x, y: small.y });
  });

  it("only with an EncodingError, for any bytes", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(33, 35, 64, 65, 67),
        fc.uint8Array({ minLength: 67, maxLength: 67 }),
        (length, bytes) => {
          encodingErrorOf(() => ecPointToJwk(bytes.subarray(0, length)));
        },
      ),
      { numRuns: 3_000 },
    );
  });
});
