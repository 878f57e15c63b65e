/** Strings, and what stands between them, of a text that is JSON. */
const TOKENS = /"(?:[^"\\]|\\.)*"|[{}:]/g;

/** A name that an object of a JSON text has twice, as it is written, quotes included. Undefined if there is none. */
export function repeatedName(text: string): string | undefined {
  const open: Set<unknown>[] = [];
  let last: string | undefined;
  for (const [token] of text.matchAll(TOKENS)) {
    if (token === "{") open.push(new Set());
    else if (token === "}") open.pop();
    else if (token === ":" && last !== undefined) {
      const name: unknown = JSON.parse(last);
      if (open.at(-1)?.has(name) === true) return last;
      open.at(-1)?.add(name);
    }
    last = token.startsWith('"') ? token : undefined;
  }
  return undefined;
}
