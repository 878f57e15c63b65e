/** A field with bytes. Fields of other wire types are skipped. */
export interface BytesField {
  readonly number: number;
  readonly bytes: Uint8Array;
}

// Wire types of Protocol Buffers. Groups (3 and 4) were never part of proto3.
const VARINT = 0;
const FIXED_64 = 1;
const BYTES = 2;
const FIXED_32 = 5;

const MAX_FIELD_NUMBER = 536_870_911;
/** A varint of 64 bits has at most ten bytes. */
const MAX_VARINT_BYTES = 10;

/**
 * The fields of a Protocol Buffers message whose values are bytes or text, in order. A field of another wire type is skipped,
 * because a newer client may send it. Undefined for bytes that are not a message.
 */
export function readBytesFields(message: Uint8Array): readonly BytesField[] | undefined {
  const fields: BytesField[] = [];
  let offset = 0;
  while (offset < message.length) {
    const tag = readVarint(message, offset);
    if (tag === undefined) return undefined;
    const number = Math.floor(tag.value / 8);
    const value = readValue(message, tag.end, tag.value % 8);
    if (value === undefined || number < 1 || number > MAX_FIELD_NUMBER) return undefined;
    if (value.bytes !== undefined) fields.push({ number, bytes: value.bytes });
    offset = value.end;
  }
  return fields;
}

interface Value {
  readonly end: number;
  readonly bytes?: Uint8Array;
}

function readValue(message: Uint8Array, offset: number, wireType: number): Value | undefined {
  if (wireType === VARINT) return readVarint(message, offset);
  if (wireType === FIXED_64) return skip(message, offset + 8);
  if (wireType === FIXED_32) return skip(message, offset + 4);
  if (wireType !== BYTES) return undefined;
  const length = readVarint(message, offset);
  if (length === undefined) return undefined;
  const end = length.end + length.value;
  return end > message.length ? undefined : { end, bytes: message.subarray(length.end, end) };
}

function skip(message: Uint8Array, end: number): Value | undefined {
  return end > message.length ? undefined : { end };
}

/** Above 2^53 the value is not exact. No length or field number is that large, so such a value is refused or skipped. */
function readVarint(message: Uint8Array, offset: number): { readonly value: number; readonly end: number } | undefined {
  let value = 0;
  let factor = 1;
  for (let index = offset; index < offset + MAX_VARINT_BYTES; index += 1) {
    const byte = message[index];
    if (byte === undefined) return undefined;
    value += (byte & 0x7f) * factor;
    if (byte < 0x80) return { value, end: index + 1 };
    factor *= 0x80;
  }
  return undefined;
}

/** A field with bytes. */
export function bytesField(number: number, bytes: Uint8Array): Uint8Array {
  return Buffer.concat([varint(number * 8 + BYTES), varint(bytes.length), bytes]);
}

/** A field with text. */
export function textField(number: number, text: string): Uint8Array {
  return bytesField(number, Buffer.from(text, "utf8"));
}

/** A field with a whole number, 0 to 2^53 - 1. Proto3 leaves out a field that is 0. */
export function numberField(number: number, value: number): Uint8Array {
  return value === 0 ? new Uint8Array() : Buffer.concat([varint(number * 8 + VARINT), varint(value)]);
}

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) + 0x80);
    rest = Math.floor(rest / 0x80);
  }
  return Uint8Array.from([...bytes, rest]);
}
