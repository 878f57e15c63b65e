/** Members of the SDK's errors that say what happened. */
const MEMBERS = ["name", "stack", "code", "$fault", "$metadata"] as const;

/** How far causes of causes are followed. */
const MAX_DEPTH = 4;

/** A message that repeats what was sent, as where a signature is refused, or in the answer of a proxy. */
const REPEATS_REQUEST = /AWS4-HMAC-SHA256|x-amz-security-token/i;

/**
 * A member of what was thrown, whatever that is. Not by `instanceof Error`, here as everywhere in this package: a client
 * may live in another realm, as in Jest, where system errors are not of the class that the tests see.
 */
export function memberOf(thrown: unknown, name: string): unknown {
  return typeof thrown === "object" && thrown !== null ? Reflect.get(thrown, name) : undefined;
}

/**
 * A copy of the client's error without what travels along with it: the response with its request and headers, and
 * where a signature is refused the message, in which services repeat the request with its session token.
 */
export function safeCause(error: unknown, depth = 0): unknown {
  const text = memberOf(error, "message");
  if (typeof text !== "string" || depth > MAX_DEPTH) return undefined;
  const inner = safeCause(memberOf(error, "cause"), depth + 1);
  const message = /signature/i.test(String(memberOf(error, "name"))) || REPEATS_REQUEST.test(text) ? "" : text;
  const copy = new Error(message, inner === undefined ? undefined : { cause: inner });
  for (const name of MEMBERS) {
    // A stack begins with the message.
    if (name === "stack" && message === "") continue;
    const value = memberOf(error, name);
    if (value !== undefined) {
      Object.defineProperty(copy, name, { value, enumerable: name !== "stack" && name !== "name", configurable: true });
    }
  }
  return copy;
}
