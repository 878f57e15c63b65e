/** Members of the SDK's errors that say what happened. */
const MEMBERS = ["name", "stack", "code", "$fault", "$metadata"] as const;

/** How far causes of causes are followed. */
const MAX_DEPTH = 4;

/**
 * A copy of the client's error without what travels along with it: the response with its request and headers, and
 * where a signature is refused the message, in which services repeat the request with its session token.
 */
export function safeCause(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error) || depth > MAX_DEPTH) return undefined;
  const cause = error.cause === undefined ? undefined : safeCause(error.cause, depth + 1);
  const message = /signature/i.test(error.name) ? "" : error.message;
  const copy = new Error(message, cause === undefined ? undefined : { cause });
  for (const name of MEMBERS) {
    // A stack begins with the message.
    if (name === "stack" && message === "") continue;
    const value: unknown = Reflect.get(error, name);
    if (value !== undefined) {
      Object.defineProperty(copy, name, { value, enumerable: name !== "stack" && name !== "name", configurable: true });
    }
  }
  return copy;
}
