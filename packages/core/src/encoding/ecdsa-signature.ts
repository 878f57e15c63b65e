import { assertBytes, fault } from "./fault.ts";
import type { Subject } from "./fault.ts";

/** Bytes of a P-256 field element or scalar. */
const HALF = 32;

// Parsed by hand, without an ASN.1 library. A signature has one fixed layout, every token goes through this code, and a
// library would still need our strict checks around it.
const SEQUENCE = 0x30;
const INTEGER = 0x02;

/** Order n of the P-256 group (NIST SP 800-186 section 3.2.1.3). */
const GROUP_ORDER = Buffer.from("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551", "hex");

/**
 * Converts an ECDSA P-256 signature from DER (`Ecdsa-Sig-Value`, RFC 3279 section 2.2.3) to the raw form of
 * JWS (RFC 7518 section 3.4): r‖s, 64 bytes, each half left-padded to 32.
 *
 * Only the one DER encoding (X.690 section 10) is accepted: a SEQUENCE with a short-form length and exactly two minimal,
 * non-negative INTEGERs, and no bytes after it. So `ecdsaRawToDer(ecdsaDerToRaw(der))` always equals `der`.
 *
 * @throws EncodingError `invalid_der` for anything else, `invalid_signature` when r or s is outside 1 to n - 1.
 * @example
 * ```ts
 * import { createSign, generateKeyPairSync } from "node:crypto";
 * import { ecdsaDerToRaw } from "@signpost/core";
 *
 * const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
 * const der = createSign("sha256").update("text").sign(privateKey);
 * const raw = ecdsaDerToRaw(der); // 64 bytes
 * ```
 */
export function ecdsaDerToRaw(der: Uint8Array): Uint8Array {
  const subject: Subject = { name: "der", code: "invalid_der" };
  assertBytes(der, subject);
  if (der[0] !== SEQUENCE) throw fault(subject, "expected a SEQUENCE (0x30)");
  // r and s take 70 bytes at most, so DER always uses the short form here. 0x80 means an indefinite length, and higher
  // values the long form.
  const length = der[1];
  if (length === undefined || length >= 0x80) throw fault(subject, "the SEQUENCE has no short-form length");
  if (length > der.length - 2) throw fault(subject, "the SEQUENCE is truncated");
  if (length < der.length - 2) throw fault(subject, "there are bytes after the SEQUENCE");
  const raw = new Uint8Array(2 * HALF);
  const end = readInteger(der, 2, raw, HALF, "r", subject);
  if (readInteger(der, end, raw, 2 * HALF, "s", subject) !== der.length) {
    throw fault(subject, "the SEQUENCE contains more than two INTEGERs");
  }
  assertRawSignature(raw, "der");
  return raw;
}

/**
 * Converts an ECDSA P-256 signature from raw r‖s (RFC 7518 section 3.4) to DER (RFC 3279 section 2.2.3).
 *
 * @throws EncodingError `invalid_signature` when `raw` is not 64 bytes or r or s is outside 1 to n - 1.
 * @example
 * ```ts
 * import { generateKeyPairSync, sign } from "node:crypto";
 * import { ecdsaRawToDer } from "@signpost/core";
 *
 * const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
 * const raw = sign("sha256", Buffer.from("text"), { key: privateKey, dsaEncoding: "ieee-p1363" });
 * const der = ecdsaRawToDer(raw); // 8 to 72 bytes
 * ```
 */
export function ecdsaRawToDer(raw: Uint8Array): Uint8Array {
  assertRawSignature(raw, "raw");
  const r = integerLength(raw, 0);
  const s = integerLength(raw, HALF);
  const der = new Uint8Array(6 + r + s);
  der[0] = SEQUENCE;
  der[1] = 4 + r + s;
  writeInteger(raw, HALF, der, 2, r);
  writeInteger(raw, 2 * HALF, der, 4 + r, s);
  return der;
}

/**
 * Checks a raw P-256 signature: 64 bytes with 1 ≤ r, s < n (RFC 7518 section 3.4, FIPS 186-5 section 6.4.2).
 *
 * @throws EncodingError `invalid_signature`.
 */
export function assertRawSignature(raw: unknown, name: string): asserts raw is Uint8Array {
  const subject: Subject = { name, code: "invalid_signature" };
  assertBytes(raw, subject);
  if (raw.length !== 2 * HALF) throw fault(subject, `expected 64 bytes of r and s, got ${raw.length}`);
  assertScalar(raw, 0, "r", subject);
  assertScalar(raw, HALF, "s", subject);
}

// Signatures are public, so these loops may end at the first byte that decides.

function assertScalar(raw: Uint8Array, start: number, label: string, subject: Subject): void {
  if (firstNonZero(raw, start) === start + HALF) throw fault(subject, `${label} is zero`);
  let index = 0;
  while (index < HALF && raw[start + index] === GROUP_ORDER[index]) index += 1;
  if (index === HALF || byteAt(raw, start + index) > byteAt(GROUP_ORDER, index)) {
    throw fault(subject, `${label} is not below the group order`);
  }
}

/** The index of the first byte of the half at `start` that is not 0, or the end of the half. */
function firstNonZero(raw: Uint8Array, start: number): number {
  let index = start;
  while (index < start + HALF && raw[index] === 0) index += 1;
  return index;
}

function byteAt(bytes: Uint8Array, index: number): number {
  return bytes[index] ?? 0;
}

/** Writes the INTEGER at `start` into the half of `raw` that ends at `halfEnd`. Returns the offset after it. */
function readInteger(
  der: Uint8Array,
  start: number,
  raw: Uint8Array,
  halfEnd: number,
  label: string,
  subject: Subject,
): number {
  if (der[start] !== INTEGER) throw fault(subject, `expected ${label} as an INTEGER (0x02)`);
  const length = der[start + 1];
  if (length === undefined) throw fault(subject, `${label} is truncated`);
  if (length >= 0x80) throw fault(subject, `${label} has no short-form length`);
  if (length > HALF + 1) throw fault(subject, `${label} is longer than 32 bytes`);
  const end = start + 2 + length;
  const first = der[start + 2];
  if (length === 0) throw fault(subject, `${label} is an empty INTEGER`);
  if (first === undefined || end > der.length) throw fault(subject, `${label} is truncated`);
  if (first >= 0x80) throw fault(subject, `${label} is negative`);
  if (length > 1 && first === 0 && (der[start + 3] ?? 0) < 0x80) {
    throw fault(subject, `${label} is not minimal: it starts with an unneeded zero byte`);
  }
  if (length === HALF + 1 && first !== 0) throw fault(subject, `${label} is longer than 32 bytes`);
  // Byte by byte, because a view of so few bytes takes longer than the copy.
  const magnitude = Math.min(length, HALF);
  for (let index = 1; index <= magnitude; index += 1) raw[halfEnd - index] = byteAt(der, end - index);
  return end;
}

/** Length of the shortest two's complement of the half at `start`, a non-zero unsigned number (X.690 section 8.3). */
function integerLength(raw: Uint8Array, start: number): number {
  const first = firstNonZero(raw, start);
  return start + HALF - first + (byteAt(raw, first) >= 0x80 ? 1 : 0);
}

/** Writes tag, length and value of the INTEGER whose value ends at `end` of `raw`. A sign byte is already 0. */
function writeInteger(raw: Uint8Array, end: number, der: Uint8Array, offset: number, length: number): void {
  der[offset] = INTEGER;
  der[offset + 1] = length;
  const magnitude = Math.min(length, HALF);
  const source = end - magnitude;
  const target = offset + 2 + length - magnitude;
  for (let index = 0; index < magnitude; index += 1) der[target + index] = byteAt(raw, source + index);
}
