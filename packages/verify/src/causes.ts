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
