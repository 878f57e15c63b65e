/** Members of the client's errors that say what happened. All others may hold the request: its digest, its token. */
const MEMBERS = ["name", "stack", "code", "details", "reason", "domain", "status", "httpStatusCode"] as const;

/** How far causes of causes are followed. */
const MAX_DEPTH = 4;

/**
 * The client's error without the request that it carries over REST (headers, body). An error of gRPC loses
 * nothing but its response metadata.
 */
export function trimmedCause(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error) || depth > MAX_DEPTH) return typeof error === "string" ? error : undefined;
  const cause = error.cause === undefined ? undefined : trimmedCause(error.cause, depth + 1);
  const trimmed = new Error(error.message, cause === undefined ? undefined : { cause });
  for (const name of MEMBERS) {
    const value: unknown = Reflect.get(error, name);
    if (typeof value === "string" || typeof value === "number") {
      Object.defineProperty(trimmed, name, { value, enumerable: name !== "stack" && name !== "name" });
    }
  }
  return trimmed;
}
