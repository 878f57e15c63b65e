import type { JwkMembers } from "../encoding/public-jwk.ts";
import { ConfigurationError } from "../errors.ts";
import { given } from "../given.ts";
import { isThenable, swallowRejection } from "../thenable.ts";
import { PublishedKeySet } from "./published-set.ts";
import type { ActiveKey, KeySet, KeySetSource, RotationSchedule } from "./types.ts";

/** The sets that a source function returned and that were accepted. */
interface Accepted {
  /** The last accepted set. */
  readonly set: PublishedKeySet;
  /** Thumbprints by kid, the least recently published first. A kid must always name the same key. */
  readonly named: Map<string, string>;
}

/**
 * The accepted sets of each source function. The function itself is the key. So everything that shares a source (signing,
 * one or more endpoints) also shares which kid names which key: if one of them refuses a set, all refuse it.
 */
const accepted = new WeakMap<object, Accepted>();

const MAX_REMEMBERED_KIDS = 10_000;

/**
 * The current set of a source. A function is called each time. As long as it returns the same object, the only cost is one
 * comparison.
 *
 * If the source function throws, the error passes through unchanged. Each new set is checked against the last 10,000 kids
 * of all accepted sets.
 *
 * @throws ConfigurationError if the source returns anything but a set from `createKeySet`, and with `code: "kid_rebound"`
 * if a `kid` named another key in an earlier set.
 * @example
 * ```ts
 * import { currentKeySet, type KeySetSource } from "@signpost/core";
 *
 * export const activeKid = (keys: KeySetSource): string => currentKeySet(keys).active.keyId;
 * ```
 */
export function currentKeySet(keys: KeySetSource): KeySet {
  if (!isSchedule(keys) && typeof keys !== "function") return requireMade(keys);
  const next = requireMade(typeof keys === "function" ? keys() : keys.keySet());
  const key = memoryKey(keys);
  const previous = accepted.get(key);
  if (next === previous?.set) return next;
  accepted.set(key, { set: next, named: namesAfter(previous?.named ?? new Map(), next) });
  return next;
}

/**
 * Does some work with a source that may still be refused, such as the keys of a configuration that is loaded again. If the work
 * throws, what the source returned meanwhile is forgotten: kids that were never in use stay free for other keys.
 *
 * @throws what the work throws.
 * @example
 * ```ts
 * import { currentKeySet, type RotationSchedule } from "@signpost/core";
 * import { tryKeySource } from "@signpost/core/adapter";
 *
 * export function takeInUse(keys: RotationSchedule, check: (kid: string) => void): void {
 *   tryKeySource(keys, () => check(currentKeySet(keys).active.keyId));
 * }
 * ```
 */
export function tryKeySource<Result>(keys: RotationSchedule | (() => KeySet), work: () => Result): Result {
  const key = memoryKey(keys);
  const before = accepted.get(key);
  // A copy, since each set that is accepted changes the map.
  const remembered = before === undefined ? undefined : { ...before, named: new Map(before.named) };
  try {
    return work();
  } catch (error) {
    if (remembered === undefined) accepted.delete(key);
    else accepted.set(key, remembered);
    throw error;
  }
}

/** The set to use while the source fails: the last accepted one, if any. */
export function lastKeySet(keys: KeySetSource): KeySet | undefined {
  return isSchedule(keys) || typeof keys === "function" ? accepted.get(memoryKey(keys))?.set : keys;
}

/** The schedule's own `keySet` function, since callers may also pass only that. Not a method shared by a class. */
function memoryKey(keys: RotationSchedule | (() => KeySet)): object {
  return typeof keys === "object" && Object.hasOwn(keys, "keySet") ? keys.keySet : keys;
}

/**
 * Whether a set still publishes a signing key under its kid. The kid alone is not enough, since it may name another key.
 *
 * @example
 * ```ts
 * import { currentKeySet, type ActiveKey, type KeySetSource } from "@signpost/core";
 * import { isStillPublished } from "@signpost/core/adapter";
 *
 * export const isRevoked = (keys: KeySetSource, key: ActiveKey): boolean => !isStillPublished(currentKeySet(keys), key);
 * ```
 */
export function isStillPublished(keys: KeySet, key: ActiveKey): boolean {
  const found = keys.find(key.keyId);
  if (found?.use !== "sig") return false;
  const { x, y }: JwkMembers = found.publicKey;
  return x === key.publicKey.x && y === key.publicKey.y;
}

/** Checks everything that can be checked without calling the source. */
export function requireSource(value: unknown): asserts value is KeySetSource {
  if (typeof value !== "function" && !isSchedule(value)) requireMade(value);
}

/** Recognized by its members, since an OP may write its own schedule on top of ours. */
export function isSchedule(value: unknown): value is RotationSchedule {
  if (typeof value !== "object" || value === null || PublishedKeySet.isMade(value)) return false;
  const { keySet, jwksRotationActive, withdrawn, latestExpiry } = value as Partial<RotationSchedule>;
  return [keySet, jwksRotationActive, withdrawn, latestExpiry].every((member) => typeof member === "function");
}

function requireMade(value: unknown): PublishedKeySet {
  if (PublishedKeySet.isMade(value)) return value;
  if (isThenable(value)) {
    swallowRejection(value);
    throw new ConfigurationError("keys", "expected a function that returns its key set synchronously, got a promise");
  }
  if (Array.isArray(value)) {
    throw new ConfigurationError("keys", "got a list of entries; call createKeySet(entries) once and pass its result");
  }
  const problem = isKeySetLike(value)
    ? "got a copy of a key set, or one from another copy of @signpost/core; pass the object that createKeySet of this copy returned"
    : `expected a key set made by createKeySet, a function that returns one, or a rotation schedule, got ${given(value)}`;
  throw new ConfigurationError("keys", problem);
}

function isKeySetLike(value: unknown): boolean {
  return typeof value === "object" && value !== null && "active" in value && "keys" in value;
}

/** The remembered kids after this set. Throws, and remembers nothing of the set, if one of its kids named another key. */
function namesAfter(named: Map<string, string>, next: PublishedKeySet): Map<string, string> {
  const names = PublishedKeySet.thumbprintsOf(next);
  for (const [kid, thumbprint] of names) {
    const before = named.get(kid);
    if (before === undefined || before === thumbprint) continue;
    const problem = `the kid ${JSON.stringify(kid)} named another key in an earlier set; give the new key an unused kid`;
    throw new ConfigurationError("keys", problem, { code: "kid_rebound" });
  }
  for (const [kid, thumbprint] of names) {
    named.delete(kid);
    named.set(kid, thumbprint);
  }
  for (const oldest of named.keys()) {
    if (named.size <= MAX_REMEMBERED_KIDS) break;
    named.delete(oldest);
  }
  return named;
}
