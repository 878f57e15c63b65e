// Characters that move the cursor, color the text, or change its direction.
const UNSAFE = /[\p{Cc}\p{Zl}\p{Zp}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu;

/**
 * Text from a backend, a host or a file, in a form that cannot change what a terminal shows: a control character becomes its
 * code, such as `\u001b`. A line break is one too.
 */
export function printable(text: string): string {
  return text.replace(UNSAFE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** The same, with line breaks kept: for messages of several lines. */
export function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}
