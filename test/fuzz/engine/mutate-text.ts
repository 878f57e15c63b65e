import type { Random } from "./random.ts";

const SEPARATORS = [",", ";", "&", "=", "/", "?", ".", ":", " ", "\n", "@", "%", "-", '"', "+"];

/** Characters that programs treat differently: spaces, line ends, letters that change with case, pairs, and marks. */
const ODD = [
  "\t",
  "\v",
  "\r\n",
  "\u0000",
  "\u007f",
  "\u0085",
  "\u00a0",
  "\u0130",
  "\u2028",
  "\ufeff",
  "\ufffd",
  "\u{1f511}",
  "\u017f",
  "\u212a",
];

/** Numbers at the ends of what types and formats hold. */
const NUMBERS = [
  "0",
  "-0",
  "00",
  "1",
  "-1",
  "+1",
  "1.0",
  "1e3",
  "0x10",
  "127",
  "128",
  "255",
  "256",
  "32767",
  "65535",
  "65536",
]
  .concat(["2147483647", "2147483648", "4294967295", "4294967296", "9007199254740991", "9007199254740993"])
  .concat(["18446744073709551615", "18446744073709551616", "9".repeat(40), "NaN", "Infinity", "1e999"]);

type Change = (text: string, random: Random) => string;

const CHANGES: readonly Change[] = [
  (text, random) =>
    changeParts(text, random, (parts) => parts.filter((_, index) => index !== random.int(parts.length))),
  (text, random) => changeParts(text, random, (parts) => [...parts, random.pick(parts)]),
  (text, random) => changeParts(text, random, (parts) => parts.toReversed()),
  (text, random) => changeParts(text, random, (parts) => parts.with(random.int(parts.length), "")),
  (text, random) => changeParts(text, random, (parts) => parts.with(random.int(parts.length), random.pick(parts))),
  (text, random) => insert(text, random, random.pick(SEPARATORS)),
  (text, random) => insert(text, random, random.pick(ODD)),
  (text, random) => insert(text, random, `%${random.int(256).toString(16).padStart(2, "0")}`),
  (text, random) => replaceMatch(text, random, /\d+/g, () => random.pick(NUMBERS)),
  (text, random) => replaceMatch(text, random, /[^\s]/g, (found) => percentEncoded(found)),
  (text, random) =>
    replaceMatch(text, random, /%[\da-f]{2}/gi, (found) =>
      random.chance(2) ? found.toLowerCase() : found.slice(0, 2),
    ),
  (text, random) =>
    replaceMatch(text, random, /[A-Za-z]+/g, (found) => (random.chance(2) ? found.toUpperCase() : found.toLowerCase())),
  (text, random) => replaceMatch(text, random, /[^\s,;&=/?.:]+/g, (found) => `"${found}"`),
  (text, random) => replaceMatch(text, random, /[^\s,;&=/?.:]+/g, (found) => ` ${found} `),
];

/** Changes the parts of a text between separators, its numbers, its case and its escapes. */
export function mutateText(text: string, random: Random): string {
  let changed = text;
  for (let left = 1 + random.int(3); left > 0; left -= 1) changed = random.pick(CHANGES)(changed, random);
  return changed;
}

function changeParts(text: string, random: Random, change: (parts: readonly string[]) => readonly string[]): string {
  const present = SEPARATORS.filter((separator) => text.includes(separator));
  if (present.length === 0) return text;
  const separator = random.pick(present);
  return change(text.split(separator)).join(separator);
}

function insert(text: string, random: Random, part: string): string {
  const at = random.int(text.length + 1);
  return text.slice(0, at) + part + text.slice(at);
}

function replaceMatch(text: string, random: Random, pattern: RegExp, change: (found: string) => string): string {
  const matches = [...text.matchAll(pattern)];
  if (matches.length === 0) return text;
  const { 0: found, index } = random.pick(matches);
  return text.slice(0, index) + change(found) + text.slice(index + found.length);
}

function percentEncoded(character: string): string {
  return [...Buffer.from(character, "utf8")].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
}
