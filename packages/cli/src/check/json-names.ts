/** A string, or one of the marks that give JSON its structure. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\]:,]/gs;

/**
 * The names that appear twice in one object of a JSON text. `JSON.parse` keeps the last member and tells nothing. The text must be
 * valid JSON.
 */
export function repeatedNames(json: string): readonly string[] {
  const repeated = new Set<string>();
  // The names of each open object. An array has none.
  const open: (Set<string> | undefined)[] = [];
  let isName = false;
  for (const [token] of json.matchAll(TOKEN)) {
    if (token.startsWith('"')) {
      const names = isName ? open.at(-1) : undefined;
      if (names !== undefined) addName(names, token, repeated);
      isName = false;
    } else if (token === "{" || token === "[") {
      open.push(token === "{" ? new Set() : undefined);
      isName = token === "{";
    } else {
      if (token === "}" || token === "]") open.pop();
      isName = token === "," && open.at(-1) !== undefined;
    }
  }
  return [...repeated];
}

function addName(names: Set<string>, token: string, repeated: Set<string>): void {
  const name = String(JSON.parse(token));
  if (names.has(name)) repeated.add(name);
  names.add(name);
}
