import { ConfigurationError } from "@signpost/core";

/** Strings, and what stands between them, of a text that is JSON. */
const TOKENS = /"(?:[^"\\]|\\.)*"|[{}:]/g;

/**
 * Reads JSON in UTF-8, with or without a byte order mark. A name that an object has twice is refused, because parsers keep one of
 * the two and say nothing. Messages contain no part of the text but such a name: a secret may be in the wrong place.
 */
export function readJson(file: string, bytes: Uint8Array): unknown {
  const text = decode(file, bytes);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new ConfigurationError(file, `expected JSON, and ${placeOf(text, error)} it is not`);
  }
  const repeated = repeatedName(text);
  if (repeated !== undefined) throw new ConfigurationError(file, `the name ${repeated} is there twice in one object`);
  return value;
}

function decode(file: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new ConfigurationError(file, "expected UTF-8", { cause });
  }
}

/** Where the parser of Node stopped, if its message says so. */
function placeOf(text: string, error: unknown): string {
  const position = error instanceof Error ? /at position (\d+)/.exec(error.message)?.[1] : undefined;
  const end = position === undefined ? text.length : Number(position);
  const lines = text.slice(0, end).split("\n");
  return `at line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`;
}

/** As JSON, quotes included. */
function repeatedName(text: string): string | undefined {
  const open: Set<unknown>[] = [];
  let last: string | undefined;
  for (const [token] of text.matchAll(TOKENS)) {
    if (token === "{") open.push(new Set());
    else if (token === "}") open.pop();
    else if (token === ":" && last !== undefined) {
      const name: unknown = JSON.parse(last);
      if (open.at(-1)?.has(name) === true) return last.length <= 66 ? last : "of a member";
      open.at(-1)?.add(name);
    }
    last = token.startsWith('"') ? token : undefined;
  }
  return undefined;
}
