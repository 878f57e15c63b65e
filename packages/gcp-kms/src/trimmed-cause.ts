/** Members of the client's errors that say what happened. All others may hold the request: its digest, its token. */
const MEMBERS = ["name", "stack", "code", "details", "reason", "domain", "status", "httpStatusCode"] as const;

/** How far causes of causes are followed. */
const MAX_DEPTH = 4;

/**
 * A member of what was thrown, whatever that is. Not by `instanceof Error`: a client may live in another realm, as in
 * Jest, where Node's own errors are not of the class that the tests see.
 */
export function memberOf(thrown: unknown, name: string): unknown {
  return typeof thrown === "object" && thrown !== null ? Reflect.get(thrown, name) : undefined;
}

/**
 * The client's error without the request that it carries over REST (headers, body). An error of gRPC loses
 * nothing but its response metadata.
 */
export function trimmedCause(error: unknown, depth = 0): unknown {
  const message = memberOf(error, "message");
  if (typeof message !== "string" || depth > MAX_DEPTH) return typeof error === "string" ? error : undefined;
  const cause = trimmedCause(memberOf(error, "cause"), depth + 1);
  const trimmed = new Error(message, cause === undefined ? undefined : { cause });
  for (const name of MEMBERS) {
    const value = memberOf(error, name);
    if (typeof value === "string" || typeof value === "number") {
      Object.defineProperty(trimmed, name, { value, enumerable: name !== "stack" && name !== "name" });
    }
  }
  return trimmed;
}
