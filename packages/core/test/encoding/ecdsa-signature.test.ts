import { createPublicKey, generateKeyPairSync, sign, verify } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { assertRawSignature, ecdsaDerToRaw, ecdsaRawToDer } from "../../src/encoding/ecdsa-signature.ts";
import { base64url, concat, derSignature, equal, expectEncodingError, fixed, hex, ORDER } from "./support.ts";

/** Numbers of every byte length, so that short halves are as common as full ones. */
const scalar = fc.oneof(
  fc.bigInt({ min: 1n, max: ORDER - 1n }),
  fc.integer({ min: 1, max: 31 }).chain((bytes) => fc.bigInt({ min: 1n, max: 256n ** BigInt(bytes) })),
  fc.constantFrom(
    1n,
    127n,
    128n,
    255n,
    256n,
    2n ** 247n,
    2n ** 248n - 1n,
    2n ** 248n,
    2n ** 255n - 1n,
    2n ** 255n,
    ORDER - 1n,
  ),
);

describe("published signatures", () => {
  const vectors = [
    {
      name: "RFC 7515 A.3.1",
      key: ["f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"],
      message:
        "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ",
      raw: new Uint8Array(
        Buffer.from(
          "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
          "base64url",
        ),
      ),
    },
    {
      name: 'RFC 6979 A.2.5, SHA-256 of "sample"',
      key: [
        base64url(hex("60FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6")),
        base64url(hex("7903FE1008B8BC99A41AE9E95628BC64F2F1B20C2D7E9F5177A3C294D4462299")),
      ],
      message: "sample",
      raw: hex(
        "EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716 F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8",
      ),
    },
  ] as const;

  it.each(vectors)("$name verifies in both encodings, and each gives the other", ({ key: [x, y], message, raw }) => {
    const key = createPublicKey({ key: { kty: "EC", crv: "P-256", x, y }, format: "jwk" });
    const der = ecdsaRawToDer(raw);
    expect(verify("sha256", Buffer.from(message), { key, dsaEncoding: "ieee-p1363" }, raw)).toBe(true);
    expect(verify("sha256", Buffer.from(message), { key, dsaEncoding: "der" }, der)).toBe(true);
    expect(ecdsaDerToRaw(der)).toEqual(raw);
  });
});

describe("signatures made by node:crypto", () => {
  it("10,000 DER signatures give 64 bytes that verify as ieee-p1363, and come back byte for byte", () => {
    const { privateKey, publicKey: key } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const seen = { shortR: 0, shortS: 0, raw0x30: 0 };
    for (let count = 0; count < 10_000; count += 1) {
      const message = Buffer.from(String(count));
      const der = sign("sha256", message, privateKey);
      const raw = ecdsaDerToRaw(der);
      const verified = verify("sha256", message, { key, dsaEncoding: "ieee-p1363" }, raw);
      if (raw.length !== 64 || !verified || !equal(ecdsaRawToDer(raw), der)) expect.fail(der.toString("hex"));
      if (raw[0] === 0) seen.shortR += 1;
      if (raw[32] === 0) seen.shortS += 1;
      if (raw[0] === 0x30) seen.raw0x30 += 1;
    }
    // About 39 of each are expected: the cases that go wrong elsewhere were really among them.
    expect(seen.shortR).toBeGreaterThan(0);
    expect(seen.shortS).toBeGreaterThan(0);
    expect(seen.raw0x30).toBeGreaterThan(0);
  });

  it("raw signatures, as ieee-p1363, give DER that verifies", () => {
    const { privateKey, publicKey: key } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    for (let count = 0; count < 500; count += 1) {
      const message = Buffer.from(String(count));
      const der = ecdsaRawToDer(sign("sha256", message, { key: privateKey, dsaEncoding: "ieee-p1363" }));
      expect(verify("sha256", message, { key, dsaEncoding: "der" }, der)).toBe(true);
    }
  });
});

describe("any r and s from 1 to n - 1", () => {
  it("10,000 pairs convert to the DER of an independent encoder, and back", () => {
    fc.assert(
      fc.property(scalar, scalar, (r, s) => {
        const raw = concat(fixed(r), fixed(s));
        const der = derSignature(r, s);
        return equal(ecdsaRawToDer(raw), der) && equal(ecdsaDerToRaw(der), raw);
      }),
      { numRuns: 10_000 },
    );
  });

  it.each([
    ["the shortest", 1n, 1n, "3006 020101 020101"],
    ["no sign byte below 0x80", 0x7fn, 0x80n, "3007 02017f 02020080"],
    ["the longest", ORDER - 1n, ORDER - 1n, undefined],
  ])("%s signature", (_name, r, s, expected) => {
    const der = ecdsaRawToDer(concat(fixed(r), fixed(s)));
    expect(der).toEqual(expected === undefined ? derSignature(r, s) : hex(expected));
    expect(der.length).toBeGreaterThanOrEqual(8);
    expect(der.length).toBeLessThanOrEqual(72);
  });

  it("a raw signature that begins like a DER SEQUENCE is still taken as raw", () => {
    const raw = concat(hex("303e"), fixed(7n, 30), fixed(9n));
    expect(ecdsaDerToRaw(ecdsaRawToDer(raw))).toEqual(raw);
  });
});

describe("the result", () => {
  it("is new memory, and the input is left as it was", () => {
    const der = derSignature(5n, ORDER - 5n);
    const before = new Uint8Array(der);
    const raw = ecdsaDerToRaw(der);
    const again = ecdsaRawToDer(raw);
    der.fill(0xff);
    expect(raw).toEqual(concat(fixed(5n), fixed(ORDER - 5n)));
    raw.fill(0xff);
    expect(again).toEqual(before);
  });

  it("is a plain Uint8Array with its own buffer, even for a Buffer inside a larger one", () => {
    const der = derSignature(5n, 6n);
    const raw = ecdsaDerToRaw(Buffer.concat([Buffer.alloc(9, 0x30), der, Buffer.alloc(9)]).subarray(9, 9 + der.length));
    expect(Object.getPrototypeOf(raw)).toBe(Uint8Array.prototype);
    expect(raw.buffer.byteLength).toBe(64);
    expect(ecdsaRawToDer(Buffer.from(raw))).toEqual(der);
  });
});

describe("a raw signature is refused", () => {
  const one = fixed(1n);
  const n = fixed(ORDER);
  const max = new Uint8Array(32).fill(0xff);
  const table: readonly (readonly [string, unknown, RegExp])[] = [
    ["empty", new Uint8Array(), /^sig: expected 64 bytes of r and s, got 0$/],
    ["63 bytes", new Uint8Array(63).fill(1), /got 63/],
    ["65 bytes", new Uint8Array(65).fill(1), /got 65/],
    ["96 bytes (P-384)", new Uint8Array(96).fill(1), /got 96/],
    ["DER in its place", derSignature(ORDER - 1n, ORDER - 2n), /got 72/],
    ["r zero", concat(new Uint8Array(32), one), /^sig: r is zero$/],
    ["s zero", concat(one, new Uint8Array(32)), /^sig: s is zero$/],
    ["r = n", concat(n, one), /^sig: r is not below the group order$/],
    ["s = n", concat(one, n), /^sig: s is not below the group order$/],
    ["r = n + 1", concat(fixed(ORDER + 1n), one), /r is not below/],
    ["r all ones", concat(max, one), /r is not below/],
    ["s all ones", concat(one, max), /s is not below/],
    ["a string", "1".repeat(64), /^sig: expected a Uint8Array, got a string$/],
    ["an ArrayBuffer", new ArrayBuffer(64), /expected a Uint8Array, got an object$/],
    ["a plain array", Array.from({ length: 64 }, () => 1), /expected a Uint8Array, got an array$/],
    ["undefined", undefined, /expected a Uint8Array, got undefined$/],
  ];

  it.each(table)("%s", (_name, raw, message) => {
    expectEncodingError(() => assertRawSignature(raw, "sig"), "invalid_signature", message);
  });

  it("by ecdsaRawToDer too, which names its own argument", () => {
    expectEncodingError(() => ecdsaRawToDer(new Uint8Array(63)), "invalid_signature", /^raw: /);
    expectEncodingError(() => ecdsaRawToDer(concat(n, one)), "invalid_signature", /^raw: r /);
  });

  it("but not with r and s at either end of the range", () => {
    assertRawSignature(concat(one, fixed(ORDER - 1n)), "sig");
    assertRawSignature(concat(fixed(ORDER - 1n), one), "sig");
    expect(ecdsaRawToDer(concat(one, fixed(ORDER - 1n)))).toEqual(derSignature(1n, ORDER - 1n));
  });
});
