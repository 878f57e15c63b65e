/** Directives with an argument that is used here. */
const SECONDS: ReadonlySet<string> = new Set(["max-age", "stale-while-revalidate", "stale-if-error"]);

/** RFC 9110 section 5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;

/**
 * Rewrites `Cache-Control` for a library that compares names by case, splits quoted arguments at their commas and uses the last of
 * repeated directives. The result has each name once, in lower case, with whole seconds. An identical directive, as in a header
 * that was sent twice, counts once. With two values of `max-age` the answer is stale (RFC 9111 section 4.2.1). A stale window with
 * two values is ignored.
 */
export function normalisedCacheControl(value: string): string {
  const given = new Map<string, Set<string>>();
  for (const directive of splitDirectives(value)) {
    const [name = "", ...argument] = directive.split("=");
    const key = name.trim().toLowerCase();
    // The library would split a name that is a quoted string at its commas too.
    if (TOKEN.test(key)) given.set(key, (given.get(key) ?? new Set()).add(unquoted(argument.join("=").trim())));
  }
  return [...given].map(([name, values]) => (SECONDS.has(name) ? `${name}=${soleSeconds(values)}` : name)).join(", ");
}

/**
 * Splits at the commas outside quoted strings (RFC 9110 section 5.6.4: a quote after a backslash does not end the string). If a
 * quote is not closed, splits at every comma, so that an open quote cannot hide a `no-store`.
 */
function splitDirectives(value: string): readonly string[] {
  const directives: string[] = [];
  let start = 0;
  let isQuoted = false;
  for (let at = 0; at < value.length; at += 1) {
    const character = value[at];
    if (isQuoted && character === "\\") at += 1;
    else if (character === '"') isQuoted = !isQuoted;
    else if (character === "," && !isQuoted) {
      directives.push(value.slice(start, at));
      start = at + 1;
    }
  }
  return isQuoted ? value.split(",") : [...directives, value.slice(start)];
}

function unquoted(argument: string): string {
  return /^"([^"]*)"$/.exec(argument)?.[1] ?? argument;
}

function soleSeconds(values: ReadonlySet<string>): number {
  const [value] = values;
  return values.size === 1 ? deltaSeconds(value) : 0;
}

/** RFC 9111 section 1.2.2: only digits. Any other value counts as 0, and a larger one as 2^31. */
export function deltaSeconds(value: unknown): number {
  if (typeof value !== "string" || !/^\d+$/.test(value)) return 0;
  return Math.min(Number(value), 2 ** 31);
}
