/**
 * A member of whatever was thrown. Not by `instanceof Error`: a client may live in another realm, as under Jest, where
 * system errors are not of the class that the tests see.
 *
 * @example
 * ```ts
 * import { memberOf } from "@signpost/core/adapter";
 *
 * export const isReset = (error: unknown): boolean => memberOf(error, "code") === "ECONNRESET";
 * ```
 */
export function memberOf(thrown: unknown, name: string): unknown {
  if (typeof thrown !== "object" || thrown === null) return undefined;
  try {
    return Reflect.get(thrown, name);
  } catch {
    // A getter or a Proxy may throw. What it keeps to itself is not there.
    return undefined;
  }
}

/** What of a client's error may be kept. */
export interface CauseRules {
  /** Members that say what happened, besides `message`, `name` and `stack`. Only text, numbers and flags of them are kept. */
  readonly members: readonly string[];
  /** True for an error whose message repeats what was sent: the message and the stack, which begins with it, are left out. */
  readonly hides?: ((error: unknown, message: string) => boolean) | undefined;
}

/** How far causes of causes are followed. */
const MAX_DEPTH = 4;

/**
 * A copy of a client's error that is fit for a `cause`. SDKs hang the request and the response on their errors, with
 * credentials, digests and headers; only what `rules` names is copied. Gives undefined for what is no error.
 *
 * @example
 * ```ts
 * import { SignerError } from "@signpost/core";
 * import { safeCause } from "@signpost/core/adapter";
 *
 * export const unavailable = (error: unknown): SignerError =>
 *   new SignerError("unavailable", "the backend cannot be reached", { cause: safeCause(error, { members: ["code"] }) });
 * ```
 */
export function safeCause(error: unknown, rules: CauseRules): unknown {
  return copyError(error, rules, 0);
}

function copyError(error: unknown, rules: CauseRules, depth: number): unknown {
  if (typeof error === "string") return rules.hides?.(error, error) === true ? undefined : error;
  const message = memberOf(error, "message");
  if (typeof message !== "string" || depth > MAX_DEPTH) return undefined;
  const cause = copyError(memberOf(error, "cause"), rules, depth + 1);
  const hidden = rules.hides?.(error, message) === true;
  const copy = new Error(hidden ? "" : message, cause === undefined ? undefined : { cause });
  for (const name of ["name", "stack", ...rules.members]) {
    if (name === "stack" && hidden) continue;
    const value = plainData(memberOf(error, name));
    const enumerable = name !== "stack" && name !== "name";
    if (value !== undefined) Object.defineProperty(copy, name, { value, enumerable, configurable: true });
  }
  return copy;
}

/** Text, a number or a flag; of an object those of its members. */
function plainData(value: unknown): unknown {
  if (isScalar(value)) return value;
  if (typeof value !== "object" || value === null) return undefined;
  try {
    return Object.fromEntries(Object.entries(value).filter(([, member]) => isScalar(member)));
  } catch {
    return undefined;
  }
}

function isScalar(value: unknown): boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}
