import { repeatsSecret } from "./repeated-secret.ts";

/**
 * Reads a member of a thrown value. It does not use `instanceof Error`, because the client may live in another realm.
 * Under Jest, for example, system errors are not instances of the `Error` that the tests see.
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
    // A getter or a Proxy may throw. Such a member counts as missing.
    return undefined;
  }
}

/**
 * The same for a member that should be text. Empty for anything else: the conversion of an object may throw, and then the
 * error of a client would be replaced by one about the conversion.
 *
 * @example
 * ```ts
 * import { textMember } from "@signpost/core/adapter";
 *
 * export const isReset = (error: unknown): boolean => textMember(error, "message").includes("ECONNRESET");
 * ```
 */
export function textMember(thrown: unknown, name: string): string {
  const value = memberOf(thrown, name);
  return typeof value === "string" ? value : "";
}

/** Which parts of a client's error may be kept. */
export interface CauseRules {
  /** Members to keep in addition to `message`, `name` and `stack`. Only strings, numbers and booleans are kept. */
  readonly members: readonly string[];
  /**
   * True for an error whose message repeats what was sent. The message and the stack, which starts with it, are left out, and
   * members that are no codes.
   */
  readonly hides?: ((error: unknown, message: string) => boolean) | undefined;
  /** What was sent and must not be shown. A message, or a member, that repeats a part of one is left out. Default none. */
  readonly secrets?: readonly (string | undefined)[] | undefined;
}

/** A code, the id of a request, or the name of a class. With a message that is left out, any other text may repeat the same. */
const CODE = /^[\w-][\w.-]{0,63}$/;

/** How many levels of causes are followed. */
const MAX_DEPTH = 4;

/**
 * A copy of a client's error that is safe to use as a `cause`. SDKs attach the request and the response to their errors,
 * with credentials, digests and headers. Only the members that `rules` names are copied. Returns undefined for a value
 * that is not an error.
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
  const { secrets = [] } = rules;
  const isShown = (text: unknown): boolean => typeof text !== "string" || !repeatsSecret(text, secrets);
  if (typeof error === "string") return rules.hides?.(error, error) === true || !isShown(error) ? undefined : error;
  const message = memberOf(error, "message");
  if (typeof message !== "string" || depth > MAX_DEPTH) return undefined;
  const cause = copyError(memberOf(error, "cause"), rules, depth + 1);
  const hidden = rules.hides?.(error, message) === true || !isShown(message) || !isShown(memberOf(error, "stack"));
  const isShownCode = (text: unknown): boolean => typeof text !== "string" || (CODE.test(text) && isShown(text));
  const copy = new Error(hidden ? "" : message, cause === undefined ? undefined : { cause });
  for (const name of ["name", "stack", ...rules.members]) {
    if (name === "stack" && hidden) continue;
    const value = plainData(memberOf(error, name), hidden ? isShownCode : isShown);
    const enumerable = name !== "stack" && name !== "name";
    if (value !== undefined) Object.defineProperty(copy, name, { value, enumerable, configurable: true });
  }
  return copy;
}

/** A string, number or boolean as it is. For an object, only its members of these types. */
function plainData(value: unknown, isShown: (text: unknown) => boolean): unknown {
  if (isScalar(value)) return isShown(value) ? value : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  try {
    const shown = Object.entries(value).filter(
      ([name, member]) => isScalar(member) && isShown(name) && isShown(member),
    );
    return Object.fromEntries(shown);
  } catch {
    return undefined;
  }
}

function isScalar(value: unknown): boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}
