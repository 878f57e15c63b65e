import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ecdsaDerToRaw, ecdsaRawToDer } from "../../src/encoding/ecdsa-signature.ts";
import type { EncodingErrorCode } from "../../src/errors.ts";
import {
  concat,
  derSignature,
  encodingErrorOf,
  equal,
  expectEncodingError,
  fixed,
  hex,
  integer,
  ORDER,
  singleByteMutations,
  tlv,
} from "./support.ts";

const R = 0x11d5n * 2n ** 230n + 7n;
const S = ORDER - 12_345n;
const r = integer(R);
const s = integer(S);
const valid = tlv(0x30, r, s);
const zeroPadded = (value: bigint): Uint8Array => tlv(0x02, hex("00"), fixed(value, 31));

type Row = readonly [name: string, der: unknown, code: EncodingErrorCode, message: RegExp];

const table: readonly Row[] = [
  ["nothing", new Uint8Array(), "invalid_der", /^der: expected a SEQUENCE \(0x30\)$/],
  ["a string", Buffer.from(valid).toString("base64"), "invalid_der", /^der: expected a Uint8Array, got a string$/],
  ["undefined", undefined, "invalid_der", /expected a Uint8Array, got undefined$/],
  ["raw r‖s", concat(fixed(R), fixed(S)), "invalid_der", /expected a SEQUENCE/],
  ["raw r‖s that begins with 0x30", concat(hex("30"), fixed(R, 31), fixed(S)), "invalid_der", /^der: /],

  // Outer SEQUENCE
  ["a SET for the SEQUENCE", tlv(0x31, r, s), "invalid_der", /expected a SEQUENCE/],
  ["a primitive SEQUENCE tag", tlv(0x10, r, s), "invalid_der", /expected a SEQUENCE/],
  ["a context tag", tlv(0xa0, r, s), "invalid_der", /expected a SEQUENCE/],
  ["a long-form tag", concat(hex("3f10"), tlv(0x30, r, s).subarray(1)), "invalid_der", /expected a SEQUENCE/],
  ["one trailing byte", concat(valid, hex("00")), "invalid_der", /there are bytes after the SEQUENCE/],
  ["a second signature behind it", concat(valid, valid), "invalid_der", /there are bytes after the SEQUENCE/],
  ["a byte in front", concat(hex("00"), valid), "invalid_der", /expected a SEQUENCE/],
  [
    "long-form length",
    concat(Uint8Array.from([0x30, 0x81, valid.length - 2]), r, s),
    "invalid_der",
    /no short-form length/,
  ],
  [
    "longer long-form length",
    concat(Uint8Array.from([0x30, 0x82, 0, valid.length - 2]), r, s),
    "invalid_der",
    /no short-form length/,
  ],
  ["indefinite length", concat(hex("3080"), r, s, hex("0000")), "invalid_der", /no short-form length/],
  ["reserved length 0xff", concat(hex("30ff"), r, s), "invalid_der", /no short-form length/],
  ["the tag alone", hex("30"), "invalid_der", /no short-form length/],
  [
    "a length one too long",
    concat(Uint8Array.from([0x30, valid.length - 1]), r, s),
    "invalid_der",
    /the SEQUENCE is truncated/,
  ],
  [
    "a length one too short",
    concat(Uint8Array.from([0x30, valid.length - 3]), r, s),
    "invalid_der",
    /there are bytes after the SEQUENCE/,
  ],
  ["a SEQUENCE inside a SEQUENCE", tlv(0x30, valid), "invalid_der", /expected r as an INTEGER/],

  // Number of elements
  ["no element", hex("3000"), "invalid_der", /expected r as an INTEGER/],
  ["one element", tlv(0x30, r), "invalid_der", /expected s as an INTEGER/],
  ["a third INTEGER", tlv(0x30, r, s, integer(1n)), "invalid_der", /more than two INTEGERs/],
  ["a third NULL", tlv(0x30, r, s, hex("0500")), "invalid_der", /more than two INTEGERs/],
  ["end-of-contents at the end", tlv(0x30, r, s, hex("0000")), "invalid_der", /more than two INTEGERs/],
  ["one byte more inside", tlv(0x30, r, s, hex("00")), "invalid_der", /more than two INTEGERs/],

  // Tags of the elements
  ["an OCTET STRING for r", tlv(0x30, tlv(0x04, fixed(R)), s), "invalid_der", /expected r as an INTEGER/],
  ["an OCTET STRING for s", tlv(0x30, r, tlv(0x04, fixed(R))), "invalid_der", /expected s as an INTEGER/],
  ["an ENUMERATED for r", tlv(0x30, tlv(0x0a, fixed(R)), s), "invalid_der", /expected r as an INTEGER/],
  ["a BIT STRING for s", tlv(0x30, r, tlv(0x03, hex("00"), fixed(R))), "invalid_der", /expected s as an INTEGER/],
  ["a constructed INTEGER", tlv(0x30, tlv(0x22, r), s), "invalid_der", /expected r as an INTEGER/],
  ["a context tag for r", tlv(0x30, tlv(0x82, fixed(R)), s), "invalid_der", /expected r as an INTEGER/],

  // Lengths of the elements
  ["an empty r", tlv(0x30, hex("0200"), s), "invalid_der", /r is an empty INTEGER/],
  ["an empty s", tlv(0x30, r, hex("0200")), "invalid_der", /s is an empty INTEGER/],
  ["both empty", hex("300402000200"), "invalid_der", /r is an empty INTEGER/],
  [
    "long-form length of r",
    tlv(0x30, concat(Uint8Array.from([0x02, 0x81, r.length - 2]), r.subarray(2)), s),
    "invalid_der",
    /r has no short-form length/,
  ],
  [
    "long-form length of s",
    tlv(0x30, r, concat(Uint8Array.from([0x02, 0x81, s.length - 2]), s.subarray(2))),
    "invalid_der",
    /s has no short-form length/,
  ],
  [
    "indefinite length of r",
    tlv(0x30, concat(hex("0280"), r.subarray(2), hex("0000")), s),
    "invalid_der",
    /r has no short-form length/,
  ],
  ["r without a length", hex("300102"), "invalid_der", /r is truncated/],
  ["s without a length", tlv(0x30, r, hex("02")), "invalid_der", /s is truncated/],
  ["r that runs past the end", hex("3006 022001 020101"), "invalid_der", /r is truncated/],
  ["r that swallows s", hex("3006 020401 020101"), "invalid_der", /expected s as an INTEGER/],
  ["s that runs past the end", hex("3006 020101 020201"), "invalid_der", /s is truncated/],
  [
    "a 33-byte r that is no padding",
    tlv(0x30, tlv(0x02, fixed(2n ** 256n, 33)), s),
    "invalid_der",
    /r is longer than 32 bytes/,
  ],
  ["a 40-byte r", tlv(0x30, tlv(0x02, fixed(2n ** 313n, 40)), s), "invalid_der", /r is longer than 32 bytes/],
  ["a 40-byte s", tlv(0x30, r, tlv(0x02, fixed(2n ** 313n, 40))), "invalid_der", /s is longer than 32 bytes/],
  ["a P-384 signature", derSignature(2n ** 383n, 2n ** 382n), "invalid_der", /longer than 32 bytes/],
  [
    "a P-521 signature, in long form as it must be",
    derSignature(2n ** 520n, 2n ** 519n),
    "invalid_der",
    /no short-form length/,
  ],

  // Values
  ["a needless zero byte before r", tlv(0x30, zeroPadded(2n ** 246n), s), "invalid_der", /r is not minimal/],
  ["a needless zero byte before s", tlv(0x30, r, zeroPadded(2n ** 246n)), "invalid_der", /s is not minimal/],
  ["two zero bytes before r", tlv(0x30, tlv(0x02, hex("0000ff")), s), "invalid_der", /r is not minimal/],
  ["zero in two bytes", tlv(0x30, hex("02020000"), s), "invalid_der", /r is not minimal/],
  [
    "a 34-byte r of padding",
    tlv(0x30, tlv(0x02, hex("0000"), fixed(S)), s),
    "invalid_der",
    /r is longer than 32 bytes/,
  ],
  ["negative r", tlv(0x30, integer(-1n), s), "invalid_der", /r is negative/],
  ["negative s", tlv(0x30, r, integer(-ORDER / 3n)), "invalid_der", /s is negative/],
  ["s without its sign byte", tlv(0x30, r, tlv(0x02, fixed(S))), "invalid_der", /s is negative/],
  ["a negative r of 33 bytes", tlv(0x30, integer(-(2n ** 256n)), s), "invalid_der", /r is negative/],
  ["r = 0", derSignature(0n, S), "invalid_signature", /^der: r is zero$/],
  ["s = 0", derSignature(R, 0n), "invalid_signature", /^der: s is zero$/],
  ["r = n", derSignature(ORDER, S), "invalid_signature", /^der: r is not below the group order$/],
  ["s = n", derSignature(R, ORDER), "invalid_signature", /^der: s is not below the group order$/],
  ["r = n + 1", derSignature(ORDER + 1n, S), "invalid_signature", /r is not below/],
  ["s = 2^256 - 1", derSignature(R, 2n ** 256n - 1n), "invalid_signature", /s is not below/],
];

describe("ecdsaDerToRaw", () => {
  it("accepts the signature that the hostile ones are made from", () => {
    expect(ecdsaDerToRaw(valid)).toEqual(concat(fixed(R), fixed(S)));
  });

  it.each(table)("refuses %s", (_name, der, code, message) => {
    // Called as from JavaScript, since half of the table is no Uint8Array to the compiler.
    expectEncodingError(() => Reflect.apply(ecdsaDerToRaw, undefined, [der]), code, message);
  });

  const samples = [
    ["of the longest form", derSignature(ORDER - 1n, ORDER - 2n)],
    ["of mixed lengths", valid],
    ["with a short r", derSignature(2n ** 240n - 3n, ORDER / 5n)],
    ["with a short s", derSignature(ORDER / 7n, 2n ** 239n)],
    ["of tiny numbers", derSignature(1n, 0x80n)],
    ["of numbers just above a byte boundary", derSignature(2n ** 248n, 2n ** 247n - 1n)],
  ] as const;

  it.each(samples)("refuses a signature %s truncated at every byte", (_name, der) => {
    for (let length = 0; length < der.length; length += 1) {
      expectEncodingError(() => ecdsaDerToRaw(der.subarray(0, length)), "invalid_der", /^der: /);
    }
  });

  it.each(samples)("refuses every single-byte mutation of a signature %s, or gives it back unchanged", (_name, der) => {
    const counted = { accepted: 0, refused: 0 };
    for (const mutation of singleByteMutations(der)) counted[outcome(mutation)] += 1;
    expect(counted.accepted + counted.refused).toBe(der.length * 255);
    expect(counted.accepted).toBeGreaterThan(0);
    // Tags and lengths have one value each.
    expect(counted.refused).toBeGreaterThanOrEqual(6 * 255);
  });

  it("keeps that promise for mutations, insertions and deletions of random signatures", () => {
    const scalar = fc.bigInt({ min: 1n, max: ORDER - 1n });
    const edit = fc.record({
      at: fc.nat(),
      remove: fc.integer({ min: 0, max: 2 }),
      insert: fc.uint8Array({ maxLength: 2 }),
    });
    fc.assert(
      fc.property(scalar, scalar, fc.array(edit, { minLength: 1, maxLength: 3 }), (a, b, edits) => {
        outcome(
          edits.reduce(
            (der, { at, remove, insert }) => spliced(der, at % der.length, remove, insert),
            derSignature(a, b),
          ),
        );
      }),
      { numRuns: 20_000 },
    );
  });

  it("keeps it for arbitrary bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => void outcome(bytes)),
      { numRuns: 10_000 },
    );
  });
});

/** Refused with an EncodingError, or the one encoding of what it says. */
function outcome(der: Uint8Array): "accepted" | "refused" {
  let raw: Uint8Array | undefined;
  if (encodingErrorOf(() => (raw = ecdsaDerToRaw(der))) !== undefined || raw === undefined) return "refused";
  if (!equal(ecdsaRawToDer(raw), der))
    expect.fail(`accepted, but not the one encoding: ${Buffer.from(der).toString("hex")}`);
  return "accepted";
}

function spliced(bytes: Uint8Array, at: number, remove: number, insert: Uint8Array): Uint8Array {
  const result = concat(bytes.subarray(0, at), insert, bytes.subarray(at + remove));
  return result.length === 0 ? bytes : result;
}
