import type { Random } from "./random.ts";

interface Element {
  readonly tag: number;
  readonly contents: Uint8Array | readonly Element[];
}

const TAGS = [
  0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x0c, 0x13, 0x16, 0x17, 0x18, 0x1f, 0x24, 0x30, 0x31, 0x80, 0x82, 0xa0, 0xa3,
];
const DEEPEST = 20;

/** Changes elements of BER, and writes lengths that fit again. Returns undefined for bytes that are not BER. */
export function mutateDer(bytes: Uint8Array, random: Random): Uint8Array | undefined {
  const elements = elementsOf(bytes, 0);
  if (elements === undefined || elements.length === 0) return undefined;
  let changed = elements;
  for (let left = 1 + random.int(2); left > 0; left -= 1) changed = changedList(changed, random, 0);
  return written(changed, random.chance(6) ? random : undefined);
}

function changedList(list: readonly Element[], random: Random, depth: number): readonly Element[] {
  if (list.length === 0) return list;
  const index = random.int(list.length);
  const element = list[index];
  if (element === undefined) return list;
  if (typeof element.contents !== "string" && Array.isArray(element.contents) && depth < DEEPEST && !random.chance(5)) {
    const contents = changedList(element.contents as readonly Element[], random, depth + 1);
    return list.with(index, { tag: element.tag, contents });
  }
  switch (random.int(6)) {
    case 0:
      return list.filter((_, each) => each !== index);
    case 1:
      return [...list.slice(0, index), element, ...list.slice(index)];
    case 2:
      return list.with(index, { ...element, tag: random.pick(TAGS) });
    case 3:
      return list.toReversed();
    case 4:
      return list.with(index, { tag: 0x30, contents: [element] });
    default:
      return list.with(index, { tag: element.tag, contents: changedBytes(element.contents, random) });
  }
}

function changedBytes(contents: Element["contents"], random: Random): Uint8Array {
  const bytes = contents instanceof Uint8Array ? contents : written(contents, undefined);
  switch (random.int(5)) {
    case 0:
      return new Uint8Array();
    case 1:
      return Uint8Array.from([0, ...bytes]);
    case 2:
      return Uint8Array.from([...bytes, random.int(256)]);
    case 3:
      return Uint8Array.from([0x80 | random.int(128), ...bytes.subarray(1)]);
    default:
      return bytes.length === 0 ? Uint8Array.of(0xff) : bytes.with(random.int(bytes.length), random.int(256));
  }
}

function elementsOf(bytes: Uint8Array, depth: number): readonly Element[] | undefined {
  const elements: Element[] = [];
  for (let start = 0; start < bytes.length;) {
    const tag = bytes[start] ?? 0;
    const form = bytes[start + 1] ?? 0x80;
    const count = form < 0x80 ? 0 : form - 0x80;
    if (form === 0x80 || count > 4) return undefined;
    const first = start + 2 + count;
    const length = count === 0 ? form : bytes.subarray(start + 2, first).reduce((sum, byte) => 256 * sum + byte, 0);
    if (first + length > bytes.length) return undefined;
    const contents = bytes.subarray(first, first + length);
    const inner = (tag & 0x20) !== 0 && depth < DEEPEST ? elementsOf(contents, depth + 1) : undefined;
    elements.push({ tag, contents: inner ?? contents });
    start = first + length;
  }
  return elements;
}

/** With `random`, some lengths are not the shortest ones, or are indefinite. */
function written(elements: readonly Element[], random: Random | undefined): Uint8Array {
  const parts = elements.map(({ tag, contents }) => {
    const body = contents instanceof Uint8Array ? contents : written(contents, random);
    if (random?.chance(6) === true) return Uint8Array.from([tag, 0x80, ...body, 0, 0]);
    return Uint8Array.from([tag, ...lengthOf(body.length, random?.chance(4) === true), ...body]);
  });
  return new Uint8Array(Buffer.concat(parts));
}

function lengthOf(length: number, isLong: boolean): readonly number[] {
  if (length < 0x80 && !isLong) return [length];
  const digits: number[] = [];
  for (let left = length; left > 0; left = Math.floor(left / 256)) digits.unshift(left % 256);
  const bytes = isLong ? [0, ...digits] : digits;
  return [0x80 | bytes.length, ...bytes];
}
