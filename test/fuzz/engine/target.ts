/** How an input is built, so that changes keep more of it. */
export type Structure = "bytes" | "text" | "json" | "jwt" | "der" | "pem";

/** A parser, or a few that read the same input, and what must be true for every input. */
export interface Target {
  /** In kebab-case. Names the folder of its corpus. */
  readonly name: string;
  /** The files of the parsers, such as `core/encoding/spki.ts`: relative to `packages/`, without `src/`. */
  readonly parsers: readonly string[];
  /** What must be true. One short sentence, for the table in the guide. */
  readonly says: string;
  readonly structure: Structure;
  /** Inputs to begin with. The corpus has more. */
  readonly seeds: readonly (string | Uint8Array)[];
  /** Words of the format. Default none. */
  readonly words?: readonly string[];
  /** How many cases it gets, compared with others: 1 is the default, and 0.1 is for a check that takes long. */
  readonly share?: number;
  /** The longest input that reaches the parser. Default 262,144 bytes. Something in front of it must refuse longer ones. */
  readonly longest?: number;
  /** Throws if something is not true. What it returns tells kinds of inputs apart. */
  check(input: Uint8Array, probe: Probe): Outcome | Promise<Outcome>;
}

/** What happened, in a few words without values of the input. */
export type Outcome = string;

/** What a parser did: it returned a value, or refused the input with one of its own errors. */
export type Attempt<Value> =
  | { readonly ok: true; readonly value: Value; readonly outcome: Outcome }
  | { readonly ok: false; readonly error: Error; readonly outcome: Outcome };

export interface AttemptRules {
  /** The message may repeat the input, for this reason. Default: no part of a marked input may be in an error. */
  readonly mayShow?: string;
}

/** Calls parsers for a target. */
export interface Probe {
  /** Fails for an error that is not one of ours, and for one that shows a marked secret. */
  attempt<Value>(parse: () => Value, rules?: AttemptRules): Attempt<Value>;
  /** The same for a promise. */
  settle<Value>(parse: () => Promise<Value>, rules?: AttemptRules): Promise<Attempt<Value>>;
}

/** A property does not hold. */
export class BrokenProperty extends Error {
  override readonly name: string = "BrokenProperty";
}

/** Fails the target unless `holds`. The message says what should be true. */
export function must(holds: boolean, property: string): asserts holds {
  if (!holds) throw new BrokenProperty(property);
}

/** Fails the target unless both are the same value, as JSON with the members in any order. */
export function mustEqual(actual: unknown, expected: unknown, property: string): void {
  const [a, b] = [actual, expected].map((value) => JSON.stringify(value, inOrder));
  if (a !== b) throw new BrokenProperty(`${property}: ${a?.slice(0, 300)} is not ${b?.slice(0, 300)}`);
}

/** The members of an object in the order of their names, and large numbers as text. */
function inOrder(_name: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
