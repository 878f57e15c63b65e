import type { ParseError } from "jsonc-parser";

/** What text is as JSON, or what is wrong with it and where. Never a part of the text, which may hold a secret in the wrong place. */
export type JsonText =
  | { readonly value: unknown }
  | {
      readonly fault: string;
      readonly line: number;
      readonly column: number;
      /** The name that an object has twice, if that is the fault. */
      readonly repeated?: string;
    };

/** Reads JSON. A name that an object has twice is a fault: parsers keep the last member and tell nothing. */
export async function readJson(text: string): Promise<JsonText> {
  try {
    return await parseJson(text);
  } catch (error) {
    // The parser calls itself for each level.
    if (error instanceof RangeError) return { fault: "not JSON of a few levels", line: 1, column: 1 };
    throw error;
  }
}

async function parseJson(text: string): Promise<JsonText> {
  const { parse, printParseErrorCode, visit } = await import("jsonc-parser");
  const errors: ParseError[] = [];
  parse(text, errors, { disallowComments: true });
  const [first] = errors;
  if (first !== undefined) {
    const problem = printParseErrorCode(first.error)
      .replaceAll(/(?<=[a-z])(?=[A-Z])/g, " ")
      .toLowerCase();
    return { fault: `not JSON (${problem})`, ...placeOf(text, first.offset) };
  }
  const repeated = repeatedName(text, visit);
  // That parser makes the name __proto__ the prototype, which hides its members from every check of names.
  if (repeated === undefined) return { value: JSON.parse(text) as unknown };
  return { fault: "a name is there twice in one object", repeated: repeated.name, ...placeOf(text, repeated.offset) };
}

type Visit = typeof import("jsonc-parser").visit;

function repeatedName(text: string, visit: Visit): { readonly name: string; readonly offset: number } | undefined {
  const open: Set<string>[] = [];
  const repeated: { readonly name: string; readonly offset: number }[] = [];
  visit(text, {
    onObjectBegin: () => void open.push(new Set()),
    onObjectEnd: () => void open.pop(),
    onObjectProperty: (name, offset) => {
      const names = open.at(-1);
      if (names?.has(name) === true) repeated.push({ name, offset });
      names?.add(name);
    },
  });
  return repeated[0];
}

function placeOf(text: string, offset: number): { readonly line: number; readonly column: number } {
  const before = text.slice(0, offset).split("\n");
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
