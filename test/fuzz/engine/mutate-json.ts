import type { Random } from "./random.ts";

/** Values that code which expects another type stumbles over. Some have the names of methods as members. */
const VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1,
  0.5,
  1e21,
  2 ** 31,
  2 ** 53,
  -(2 ** 53),
  "",
  " ",
  "0",
  "__proto__",
  "constructor",
  "toString",
  "\u0000",
  "\ud800",
  "A".repeat(300),
  [],
  [null],
  [[]],
  ["verify", "verify"],
  {},
  { toString: 1, valueOf: 1 },
  { length: 1, 0: "x" },
];

const NAMES = [
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "length",
  "then",
  "",
  "keys",
  "kid",
  "alg",
  "d",
  "k",
];

/**
 * Changes one or more values of a JSON text. Returns undefined for a text that is not JSON, or that has too many levels.
 */
export function mutateJson(text: string, random: Random, words: readonly string[]): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const values = [...VALUES, ...words];
  try {
    for (let left = 1 + random.int(3); left > 0; left -= 1) value = changed(value, random, values, 0);
    const written = JSON.stringify(value);
    return random.chance(12) ? withRepeatedName(written, random) : written;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function changed(value: unknown, random: Random, values: readonly unknown[], depth: number): unknown {
  const members = Array.isArray(value) ? value.map((each, index) => [String(index), each] as const) : entriesOf(value);
  if (members.length === 0 || depth > 12 || random.chance(4)) return replaced(value, random, values);
  const [name, member] = random.pick(members);
  if (Array.isArray(value)) {
    const list: readonly unknown[] = value;
    if (random.chance(6)) return list.filter((_, index) => String(index) !== name);
    if (random.chance(6)) return [...list, random.pick(list)];
    return list.with(Number(name), changed(member, random, values, depth + 1));
  }
  if (random.chance(6)) return withMembers(members.filter(([each]) => each !== name));
  if (random.chance(8)) return withMembers([...members, [random.pick(NAMES), random.pick(values)]]);
  if (random.chance(10))
    return withMembers([...members.filter(([each]) => each !== name), [random.pick(NAMES), member]]);
  return withMembers(
    members.map(([each, old]) => [each, each === name ? changed(old, random, values, depth + 1) : old]),
  );
}

function replaced(value: unknown, random: Random, values: readonly unknown[]): unknown {
  if (typeof value === "string" && value !== "" && !random.chance(3)) return changedText(value, random);
  if (typeof value === "number" && random.chance(2))
    return random.pick([value + 1, value - 1, -value, value / 2, value * 1000]);
  if (random.chance(12)) return [value];
  if (random.chance(20)) return Array.from({ length: 40 }).reduce<unknown>((inner) => [inner], value);
  return random.pick(values);
}

function changedText(text: string, random: Random): string {
  const at = random.int(text.length);
  if (random.chance(3)) return text.slice(0, at) + text.slice(at + 1);
  const inserted = random.pick(["=", "-", "_", "+", "/", " ", "A", ".", "\n", "\u0000", "é", text.slice(at, at + 8)]);
  return text.slice(0, at) + inserted + text.slice(random.chance(2) ? at : at + 1);
}

/** `JSON.stringify` cannot write a name twice, or the name `__proto__` of a literal. */
function withRepeatedName(json: string, random: Random): string {
  const names = [...json.matchAll(/"[^"\\]*":/g)];
  if (names.length === 0) return json;
  const { 0: name, index } = random.pick(names);
  return `${json.slice(0, index)}${name}${random.pick(["0", "null", '"ES256"', "{}"])},${json.slice(index)}`;
}

function entriesOf(value: unknown): readonly (readonly [string, unknown])[] {
  return typeof value === "object" && value !== null ? Object.entries(value) : [];
}

/** Unlike an assignment, this makes a member of `__proto__`. */
function withMembers(members: readonly (readonly [string, unknown])[]): unknown {
  return Object.fromEntries(members);
}
