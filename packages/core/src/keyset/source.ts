import type { JwkMembers } from "../encoding/public-jwk.ts";
import { ConfigurationError } from "../errors.ts";
import { isThenable, swallowRejection } from "../thenable.ts";
import { PublishedKeySet } from "./published-set.ts";
import type { ActiveKey, KeySet, KeySetSource, RotationSchedule } from "./types.ts";

/** What a source function gave and was accepted. */
interface Accepted {
  /** The last one. */
  readonly set: PublishedKeySet;
  /** Thumbprints by kid, the kid that was not published for longest first. A kid names one key for good. */
  readonly named: Map<string, string>;
}

/**
 * What each source function gave. It hangs on the caller's own function, so everything that shares a source (an endpoint,
 * signing, a second endpoint) also shares what its kids named: a set that one of them refuses is refused by all.
 */
const accepted = new WeakMap<object, Accepted>();

const MAX_REMEMBERED_KIDS = 10_000;

/**
 * The set that a source stands for now. A function is called each time; while it returns the same object, that costs
 * one comparison.
 *
 * Whatever a source function throws passes through as it is, and changes nothing: the next set is held against the last
 * 10,000 kids of all sets that were accepted.
 *
 * @throws ConfigurationError when the source gives anything but a set made by `createKeySet`, and
 * (`code: "kid_rebound"`) when a `kid` of the set named another key in a set before it.
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

/** The set to go on with while the source fails: the last one it gave that was accepted, if any. */
export function lastKeySet(keys: KeySetSource): KeySet | undefined {
  return isSchedule(keys) || typeof keys === "function" ? accepted.get(memoryKey(keys))?.set : keys;
}

/** A schedule's own function, which may be given by itself too. A method that schedules of a class share is not its own. */
function memoryKey(keys: RotationSchedule | (() => KeySet)): object {
  return typeof keys === "object" && Object.hasOwn(keys, "keySet") ? keys.keySet : keys;
}

/**
 * Whether a key that signs is published in a set: its kid, for this very key. A kid may have come back for another one.
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

/** Checks what can be checked without calling the source. */
export function requireSource(value: unknown): asserts value is KeySetSource {
  if (typeof value !== "function" && !isSchedule(value)) requireMade(value);
}

/** By its members: an OP may write its own, over plans of this package. */
export function isSchedule(value: unknown): value is RotationSchedule {
  if (typeof value !== "object" || value === null || PublishedKeySet.isMade(value)) return false;
  const { keySet, jwksRotationActive, withdrawn, latestExpiry } = value as Partial<RotationSchedule>;
  return [keySet, jwksRotationActive, withdrawn, latestExpiry].every((member) => typeof member === "function");
}

function requireMade(value: unknown): PublishedKeySet {
  if (PublishedKeySet.isMade(value)) return value;
  if (isThenable(value)) {
    swallowRejection(value);
    throw new ConfigurationError("keys", "expected a source that returns its key set at once, got a promise");
  }
  if (Array.isArray(value)) {
    throw new ConfigurationError("keys", "got a list of entries; make a set of it once, with createKeySet(entries)");
  }
  const problem = isKeySetLike(value)
    ? "got a copy of a key set, or one of another copy of @signpost/core; give the one that createKeySet returned, of this copy"
    : "expected a key set made by createKeySet, a function that returns one, or a rotation schedule";
  throw new ConfigurationError("keys", problem);
}

function isKeySetLike(value: unknown): boolean {
  return typeof value === "object" && value !== null && "active" in value && "keys" in value;
}

/** What is remembered after a set. Nothing is, where one of its kids named another key before. */
function namesAfter(named: Map<string, string>, next: PublishedKeySet): Map<string, string> {
  const names = PublishedKeySet.thumbprintsOf(next);
  for (const [kid, thumbprint] of names) {
    const before = named.get(kid);
    if (before === undefined || before === thumbprint) continue;
    const problem = `the kid ${JSON.stringify(kid)} named another key in a set before; give the new key a kid that was never used`;
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
