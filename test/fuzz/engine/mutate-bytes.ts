import type { Random } from "./random.ts";

/** Bytes that parsers treat specially: ends of ranges, DER tags and lengths, white space, separators. */
const SPECIAL = Uint8Array.from([
  0x00, 0x01, 0x02, 0x03, 0x04, 0x06, 0x09, 0x0a, 0x0d, 0x17, 0x18, 0x1f, 0x20, 0x22, 0x25, 0x27, 0x2b, 0x2c, 0x2d,
  0x2e, 0x2f, 0x30, 0x31, 0x39, 0x3a, 0x3b, 0x3d, 0x3f, 0x40, 0x5b, 0x5c, 0x5d, 0x7b, 0x7d, 0x7f, 0x80, 0x81, 0x82,
  0x84, 0xa0, 0xa3, 0xbf, 0xc2, 0xef, 0xfe, 0xff,
]);

type Change = (bytes: Buffer, random: Random, others: readonly Uint8Array[]) => Buffer;

const CHANGES: readonly Change[] = [
  (bytes, random) => replaceAt(bytes, random, (byte) => byte ^ (1 << random.int(8))),
  (bytes, random) => replaceAt(bytes, random, () => random.pick([...SPECIAL])),
  (bytes, random) => replaceAt(bytes, random, () => random.int(256)),
  (bytes, random) => replaceAt(bytes, random, (byte) => byte + random.pick([-2, -1, 1, 2])),
  // A letter in its other case.
  (bytes, random) => replaceAt(bytes, random, (byte) => byte ^ 0x20),
  (bytes, random) => insertAt(bytes, random, Buffer.of(random.pick([...SPECIAL]))),
  (bytes, random) => insertAt(bytes, random, sliceOf(bytes, random)),
  (bytes, random) => insertAt(bytes, random, Buffer.alloc(1 + random.int(24), random.pick([...SPECIAL]))),
  (bytes, random) => {
    const [start, end] = rangeIn(bytes, random);
    return Buffer.concat([bytes.subarray(0, start), bytes.subarray(end)]);
  },
  (bytes, random) => bytes.subarray(0, random.int(bytes.length + 1)),
  (bytes, random) => bytes.subarray(random.int(bytes.length + 1)),
  (bytes, random, others) => {
    const other = Buffer.from(random.pick(others));
    return Buffer.concat([
      bytes.subarray(0, random.int(bytes.length + 1)),
      other.subarray(random.int(other.length + 1)),
    ]);
  },
  (bytes, random, others) => insertAt(bytes, random, sliceOf(Buffer.from(random.pick(others)), random)),
];

/** Some random changes. `others` are inputs from which parts are taken. */
export function mutateBytes(input: Uint8Array, random: Random, others: readonly Uint8Array[]): Uint8Array {
  let bytes: Buffer = Buffer.from(input);
  for (let left = 1 + random.int(random.chance(4) ? 8 : 2); left > 0; left -= 1) {
    bytes = random.pick(CHANGES)(bytes, random, others.length === 0 ? [input] : others);
  }
  return new Uint8Array(bytes);
}

/** Puts a text of the format, such as a keyword, into the bytes or over them. */
export function insertWord(input: Uint8Array, random: Random, words: readonly string[]): Uint8Array {
  const bytes = Buffer.from(input);
  const word = Buffer.from(random.pick(words), "utf8");
  const at = random.int(bytes.length + 1);
  const end = random.chance(2) ? at : Math.min(bytes.length, at + word.length);
  return new Uint8Array(Buffer.concat([bytes.subarray(0, at), word, bytes.subarray(end)]));
}

function replaceAt(bytes: Buffer, random: Random, change: (byte: number) => number): Buffer {
  if (bytes.length === 0) return bytes;
  const copy = Buffer.from(bytes);
  const at = random.int(copy.length);
  copy[at] = change(copy[at] ?? 0) & 0xff;
  return copy;
}

function insertAt(bytes: Buffer, random: Random, part: Uint8Array): Buffer {
  const at = random.int(bytes.length + 1);
  return Buffer.concat([bytes.subarray(0, at), part, bytes.subarray(at)]);
}

function sliceOf(bytes: Buffer, random: Random): Buffer {
  const [start, end] = rangeIn(bytes, random);
  return bytes.subarray(start, end);
}

function rangeIn(bytes: Buffer, random: Random): readonly [start: number, end: number] {
  const start = random.int(bytes.length + 1);
  return [start, Math.min(bytes.length, start + 1 + random.int(random.chance(4) ? bytes.length : 12))];
}
