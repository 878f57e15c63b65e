import { inspect } from "node:util";

/** Stands for a secret in the wrong place. Letters and digits, so that most formats take it as it is. */
export const MARKER = "mArK3dS3cr3tQ7xWz9";

/** This much of a secret in a message counts as the secret. */
const FRAGMENT = 12;

/** How a part of the marker looks in a message. In lower case, because hosts are. */
const SPELLINGS: readonly string[] = [
  MARKER.slice(0, FRAGMENT),
  MARKER.slice(-FRAGMENT),
  Buffer.from(MARKER)
    .toString("hex")
    .slice(0, 2 * FRAGMENT),
  // base64 has another text for each of three offsets. The characters at both ends depend on what is around the marker.
  ...[0, 1, 2].map((offset) =>
    Buffer.from("\0".repeat(offset) + MARKER)
      .toString("base64")
      .slice(offset + 1, offset + 17),
  ),
].map((text) => text.toLowerCase());

/** The spelling of the marker in an error: its message, its causes, its members and its stack. Undefined if there is none. */
export function leakIn(error: unknown): string | undefined {
  const text = inspect(error, { depth: 12, showHidden: true, maxStringLength: Number.POSITIVE_INFINITY }).toLowerCase();
  return SPELLINGS.find((spelling) => text.includes(spelling));
}

/** Whether the marker was put into this input, as it is or encoded. */
export function isMarked(input: Uint8Array): boolean {
  const text = Buffer.from(input).toString("latin1").toLowerCase();
  return SPELLINGS.some((spelling) => text.includes(spelling));
}
