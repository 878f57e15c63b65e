// Second implementations, as plain as possible, that share no code with the parsers.

/** NIST SP 800-186 section 3.2.1.3. */
const N = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
const P = 0xffffffff00000001000000000000000000000000ffffffffffffffffffffffffn;
const B = 0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604bn;

export function toBigInt(bytes: Uint8Array): bigint {
  return bytes.length === 0 ? 0n : BigInt(`0x${Buffer.from(bytes).toString("hex")}`);
}

export function isScalar(value: bigint): boolean {
  return value >= 1n && value < N;
}

/** y² = x³ - 3x + b. */
export function isOnP256(x: bigint, y: bigint): boolean {
  return x < P && y < P && (y * y - (x * x * x - 3n * x + B)) % P === 0n;
}

/** The one DER encoding of an ECDSA signature. */
export function derSignature(r: bigint, s: bigint): Uint8Array {
  const body = [...derInteger(r), ...derInteger(s)];
  return Uint8Array.from([0x30, body.length, ...body]);
}

function derInteger(value: bigint): readonly number[] {
  const hex = value.toString(16);
  const bytes = [...Buffer.from(hex.length % 2 === 1 ? `0${hex}` : hex, "hex")];
  const signed = (bytes[0] ?? 0) >= 0x80 ? [0, ...bytes] : bytes;
  return [0x02, signed.length, ...signed];
}

/** The two numbers of a signature in BER, read as loosely as possible. Undefined if there are no two. */
export function looseSignature(bytes: Uint8Array): readonly [r: bigint, s: bigint] | undefined {
  const [first, second] = looseIntegers(bytes);
  return first === undefined || second === undefined ? undefined : [first, second];
}

function looseIntegers(bytes: Uint8Array): readonly bigint[] {
  const found: bigint[] = [];
  for (let at = headerEnd(bytes, 0); at < bytes.length && found.length < 2;) {
    const start = headerEnd(bytes, at);
    const length = bytes[at + 1] ?? 0;
    if (bytes[at] !== 0x02 || length >= 0x80) break;
    found.push(toBigInt(bytes.subarray(start, start + length)));
    at = start + length;
  }
  return found;
}

function headerEnd(bytes: Uint8Array, at: number): number {
  const form = bytes[at + 1] ?? 0;
  return at + 2 + (form > 0x80 ? form - 0x80 : 0);
}

const BASE64URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** RFC 4648 section 5 without padding, one bit after the other. Undefined for anything that is not canonical. */
export function base64urlBytes(text: string): Uint8Array | undefined {
  const values = [...text].map((character) => BASE64URL.indexOf(character));
  if (values.includes(-1) || text.length % 4 === 1) return undefined;
  const bits = values.map((value) => value.toString(2).padStart(6, "0")).join("");
  const spare = bits.length % 8;
  if (/1/.test(bits.slice(bits.length - spare))) return undefined;
  return Uint8Array.from({ length: (bits.length - spare) / 8 }, (_, index) =>
    Number.parseInt(bits.slice(8 * index, 8 * index + 8), 2),
  );
}

/** Whether an entity-tag is in a list: every comma outside of quotes separates. */
export function hasEntityTag(list: string, etag: string, isWeakEnough: boolean): boolean {
  const members: string[] = [""];
  let isQuoted = false;
  for (const character of list) {
    if (character === '"') isQuoted = !isQuoted;
    if (character === "," && !isQuoted) members.push("");
    else members[members.length - 1] += character;
  }
  const trimmed = members.map((member) => member.replace(/^[ \t]+/, "").replace(/[ \t]+$/, ""));
  if (list.replaceAll(/[ \t]/g, "") === "*") return true;
  return trimmed.some((member) => member === etag || (isWeakEnough && member === `W/${etag}`));
}

const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** The IMF-fixdate of a time (RFC 9110 section 5.6.7). */
export function imfFixdate(time: number): string {
  const date = new Date(time);
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${DAYS[date.getUTCDay()]}, ${two(date.getUTCDate())} ${MONTHS[date.getUTCMonth()]} ${String(date.getUTCFullYear()).padStart(4, "0")}`;
  return `${day} ${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())} GMT`;
}
