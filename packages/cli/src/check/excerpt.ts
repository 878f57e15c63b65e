import { printable } from "../terminal/printable.ts";

/** Characters that are not seen: joiners, tags, soft hyphens, and halves of pairs. */
const INVISIBLE = /[\p{Cf}\p{Cs}]/gu;

/** Text of a stranger for a terminal, in one line and not longer than `limit` characters. */
export function excerpt(text: string, limit = 120): string {
  // A character may have two code units.
  const characters = Array.from(text.slice(0, limit * 2));
  const isShortened = characters.length > limit || text.length > limit * 2;
  const start = characters.slice(0, limit).join("");
  const shown = printable(start).replaceAll(INVISIBLE, (one) => `\\u{${(one.codePointAt(0) ?? 0).toString(16)}}`);
  return isShortened ? `${shown}…` : shown;
}

/** A value of a stranger in quotes. */
export function quoted(text: string, limit = 120): string {
  return `"${excerpt(text, limit)}"`;
}
