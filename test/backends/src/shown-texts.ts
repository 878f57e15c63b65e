import { inspect } from "node:util";
import { isUint8Array } from "node:util/types";

/** A text that someone may read or store, and where it was. */
export interface ShownText {
  readonly where: string;
  readonly text: string;
}

const INSPECT = {
  depth: Number.POSITIVE_INFINITY,
  maxArrayLength: null,
  maxStringLength: null,
  breakLength: 120,
} as const;

/**
 * Everything that a value can show: what a log line prints of it in each way, and each text that can be reached from it through
 * properties with any name, enumerable or not, causes, the errors of an AggregateError, and entries of maps and sets.
 */
export function shownTexts(value: unknown, where: string): readonly ShownText[] {
  const texts: ShownText[] = [
    { where: `util.inspect of ${where}`, text: inspect(value, INSPECT) },
    { where: `util.inspect with hidden members of ${where}`, text: inspect(value, { ...INSPECT, showHidden: true }) },
    { where: `JSON of ${where}`, text: jsonOf(value) },
    { where: `text of ${where}`, text: textOf(value) },
  ];
  for (const [path, text] of membersOf(value)) texts.push({ where: `${where}${path}`, text });
  return texts;
}

function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return "";
  }
}

/** Also of an object that refers to itself. */
function jsonOf(value: unknown): string {
  const seen = new WeakSet();
  try {
    const text = JSON.stringify(value, (_name, member: unknown) => {
      if (typeof member === "bigint") return String(member);
      if (typeof member !== "object" || member === null) return member;
      if (seen.has(member)) return undefined;
      seen.add(member);
      return member;
    }) as string | undefined;
    return text ?? "";
  } catch {
    return "";
  }
}

/** Deep enough for an error in an error in an error, and for what is attached to each. */
const MAX_DEPTH = 12;

function membersOf(value: unknown): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  const seen = new Set<unknown>();
  const visit = (member: unknown, path: string, depth: number): void => {
    if (typeof member === "string" || typeof member === "symbol" || typeof member === "bigint") {
      return void texts.set(path, String(member));
    }
    if ((typeof member !== "object" && typeof member !== "function") || member === null) return;
    if (seen.has(member) || depth > MAX_DEPTH) return;
    seen.add(member);
    if (isUint8Array(member)) return void texts.set(path, Buffer.from(member).toString("latin1"));
    if (member instanceof Map || member instanceof Set) visit([...member], `${path}.entries`, depth + 1);
    for (const key of ownKeys(member)) {
      if (typeof key === "string") texts.set(`${path}.${key} (name)`, key);
      visit(read(member, key), `${path}.${String(key)}`, depth + 1);
    }
    // Getters of its class. What is on the prototypes of the language itself is the same for all.
    const prototype: unknown = Object.getPrototypeOf(member);
    if (typeof prototype !== "object" || prototype === null || isOfLanguage(prototype)) return;
    for (const key of ownKeys(prototype)) {
      const { get } = Object.getOwnPropertyDescriptor(prototype, key) ?? {};
      if (get !== undefined) visit(read(member, key), `${path}.${String(key)}`, depth + 1);
    }
  };
  visit(value, "", 0);
  return texts;
}

const OF_LANGUAGE: ReadonlySet<object> = new Set([
  Object.prototype,
  Array.prototype,
  Function.prototype,
  Error.prototype,
  Date.prototype,
  Map.prototype,
  Set.prototype,
]);

function isOfLanguage(prototype: object): boolean {
  return OF_LANGUAGE.has(prototype);
}

function ownKeys(object: object): readonly PropertyKey[] {
  try {
    return Reflect.ownKeys(object);
  } catch {
    return [];
  }
}

function read(object: object, key: PropertyKey): unknown {
  try {
    return Reflect.get(object, key) as unknown;
  } catch {
    return undefined;
  }
}
