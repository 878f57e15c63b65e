/** One element of DER (X.690 section 8.1). */
export interface DerElement {
  /** The identifier byte. */
  readonly tag: number;
  readonly contents: Uint8Array;
  /** The identifier, the length and the contents. */
  readonly whole: Uint8Array;
}

export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectIdentifier: 0x06,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

/** A certificate has elements of at most a few kilobytes. */
const MAX_LENGTH_BYTES = 3;

/**
 * The elements that these bytes consist of. Undefined if they are not DER: an indefinite length (X.690 section 10.1), a length
 * with more bytes than it needs, an identifier of more than one byte, or an element that ends too late.
 */
export function derElements(bytes: Uint8Array): readonly DerElement[] | undefined {
  const elements: DerElement[] = [];
  for (let start = 0; start < bytes.length;) {
    const element = elementAt(bytes, start);
    if (element === undefined) return undefined;
    elements.push(element);
    start += element.whole.length;
  }
  return elements;
}

/** The elements inside the only element of `bytes`, which must have this tag. */
export function derElementsOf(bytes: Uint8Array, tag: number): readonly DerElement[] | undefined {
  const [only, ...others] = derElements(bytes) ?? [];
  return only?.tag === tag && others.length === 0 ? derElements(only.contents) : undefined;
}

function elementAt(bytes: Uint8Array, start: number): DerElement | undefined {
  const tag = bytes[start];
  const first = bytes[start + 1];
  // The tag number 31 says that more bytes of the identifier follow.
  if (tag === undefined || first === undefined || (tag & 0x1f) === 0x1f) return undefined;
  const lengthBytes = first < 0x80 ? 0 : first - 0x80;
  const contentsStart = start + 2 + lengthBytes;
  if (first === 0x80 || lengthBytes > MAX_LENGTH_BYTES || contentsStart > bytes.length) return undefined;
  const length =
    lengthBytes === 0 ? first : bytes.subarray(start + 2, contentsStart).reduce((sum, byte) => 256 * sum + byte, 0);
  const end = contentsStart + length;
  if (end > bytes.length || (lengthBytes > 0 && !needsBytes(length, lengthBytes))) return undefined;
  return { tag, contents: bytes.subarray(contentsStart, end), whole: bytes.subarray(start, end) };
}

function needsBytes(length: number, lengthBytes: number): boolean {
  return length >= (lengthBytes === 1 ? 0x80 : 256 ** (lengthBytes - 1));
}
