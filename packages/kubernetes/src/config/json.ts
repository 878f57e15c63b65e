import { ConfigurationError } from "@signpost/core";
import { repeatedName } from "../repeated-name.ts";

/** Longer than the name of any member, with its quotes. */
const MAX_SHOWN = 66;

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
  if (repeated !== undefined) {
    const shown = repeated.length <= MAX_SHOWN ? repeated : "of a member";
    throw new ConfigurationError(file, `the name ${shown} is there twice in one object`);
  }
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
