import { BitString, ObjectIdentifier } from "asn1js";

/** What asn1js and pkijs can encode. */
interface Encodable {
  toBER(): ArrayBuffer;
}

/** The bytes of an ASN.1 value. The values that are built here have one encoding in BER and in DER. */
export function derOf(value: Encodable): Uint8Array {
  return new Uint8Array(value.toBER());
}

const SEQUENCE = 0x30;
const SET = 0x31;

/** A SEQUENCE of values that are already encoded, and stay as they are. */
export function sequence(parts: readonly Uint8Array[]): Uint8Array {
  return constructed(SEQUENCE, parts);
}

/** A SET OF values that are already encoded. DER sorts them (X.690 section 11.6). */
export function setOf(parts: readonly Uint8Array[]): Uint8Array {
  return constructed(
    SET,
    parts.toSorted((a, b) => Buffer.compare(a, b)),
  );
}

/** What has the tag `[number]` of its context, with these contents. */
export function contextTagged(number: number, parts: readonly Uint8Array[]): Uint8Array {
  return constructed(0xa0 | number, parts);
}

/** By hand, because asn1js would parse what is signed before it writes it again. */
function constructed(tag: number, parts: readonly Uint8Array[]): Uint8Array {
  const contents = Buffer.concat(parts);
  const digits = contents.length.toString(16);
  const length = Buffer.from(digits.length % 2 === 1 ? `0${digits}` : digits, "hex");
  const header = contents.length < 0x80 ? [tag, contents.length] : [tag, 0x80 | length.length, ...length];
  return new Uint8Array(Buffer.concat([Uint8Array.from(header), contents]));
}

/** A BIT STRING of whole bytes. */
export function bitString(bytes: Uint8Array): Uint8Array {
  return derOf(new BitString({ valueHex: exactBuffer(bytes) }));
}

/** An OBJECT IDENTIFIER. */
export function objectIdentifier(oid: string): Uint8Array {
  return derOf(new ObjectIdentifier({ value: oid }));
}

/** The bytes in a buffer without anything else. */
export function exactBuffer(bytes: Uint8Array): ArrayBuffer {
  return new Uint8Array(bytes).buffer;
}

const LONGEST = 65_536;
const DEEPEST = 32;

/**
 * Whether these bytes are exactly one DER element: definite lengths in their shortest form, nested elements that fill the outer
 * one, and no bytes after it (X.690 section 10). The contents of primitive elements are not read, because asn1js accepts BER.
 */
export function isOneDerElement(bytes: Uint8Array): boolean {
  return bytes.length > 0 && bytes.length <= LONGEST && elementEnd(bytes, 0, bytes.length, 0) === bytes.length;
}

/** The end of the element at `start`, or undefined if it is none. */
function elementEnd(bytes: Uint8Array, start: number, limit: number, depth: number): number | undefined {
  const contents = contentsOf(bytes, start, limit);
  if (contents === undefined || depth > DEEPEST) return undefined;
  const isConstructed = ((bytes[start] ?? 0) & 0x20) !== 0;
  let position = contents.start;
  while (isConstructed && position < contents.end) {
    const next = elementEnd(bytes, position, contents.end, depth + 1);
    if (next === undefined) return undefined;
    position = next;
  }
  return contents.end;
}

interface Contents {
  readonly start: number;
  readonly end: number;
}

function contentsOf(bytes: Uint8Array, start: number, limit: number): Contents | undefined {
  const tag = bytes[start];
  // 0 is the end of an indefinite length. 0x1f begins a tag of several bytes, which no certificate has.
  if (tag === undefined || tag === 0 || (tag & 0x1f) === 0x1f) return undefined;
  const form = bytes[start + 1];
  if (form === undefined || form === 0x80 || form > 0x83) return undefined;
  const count = form < 0x80 ? 0 : form - 0x80;
  const first = start + 2 + count;
  if (first > limit) return undefined;
  const length = count === 0 ? form : bytes.subarray(start + 2, first).reduce((sum, byte) => 256 * sum + byte, 0);
  const isShortest = count === 0 || (length >= 0x80 && bytes[start + 2] !== 0);
  return isShortest && first + length <= limit ? { start: first, end: first + length } : undefined;
}
