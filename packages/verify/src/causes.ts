import { memberOf } from "@signpost/core/adapter";

/** How far causes of causes are followed. */
const MAX_DEPTH = 8;

/**
 * An error and its causes, the outermost first; of several errors for several addresses, the first. By what they have and not by
 * their class: where tests run in a realm of their own, as under Jest, errors of the network are of another.
 */
export function* causesOf(error: unknown): Iterable<unknown> {
  let current = error;
  for (let depth = 0; depth < MAX_DEPTH && typeof current === "object" && current !== null; depth += 1) {
    yield current;
    const errors = memberOf(current, "errors");
    current = memberOf(current, "cause") ?? (Array.isArray(errors) ? (errors[0] as unknown) : undefined);
  }
}

/** Names that say nothing. */
const ANY_ERROR: ReadonlySet<unknown> = new Set(["Error", "TypeError", "AggregateError"]);

/**
 * The innermost code in a chain of causes, such as ECONNREFUSED or CERT_HAS_EXPIRED, or else the innermost name, such as
 * HTTPParserError or TimeoutError. An HTTP client says "fetch failed" around it. Messages are not repeated: they may hold the
 * whole URL.
 */
export function reasonOf(error: unknown): string | undefined {
  const causes = [...causesOf(error)];
  const codes = causes.map((cause) => memberOf(cause, "code")).filter(isWord);
  const names = causes.map((cause) => memberOf(cause, "name")).filter(isWord);
  return codes.at(-1) ?? names.findLast((name) => !ANY_ERROR.has(name));
}

function isWord(value: unknown): value is string {
  return typeof value === "string" && /^\w{1,64}$/.test(value);
}
