import { ConfigurationError } from "../errors.ts";
import { isThenable, swallowRejection } from "../thenable.ts";
import { PublishedKeySet } from "./published-set.ts";
import type { ActiveKey, KeySet, KeySetSource, PublishedKey, RotationSchedule } from "./types.ts";

/**
 * The set that each source function gave last and that was accepted. It hangs on the caller's own function, so
 * everything that shares a source (an endpoint, signing, a second endpoint) also shares what "the set before" is: a
 * set that one of them refuses is refused by all.
 */
const lastAccepted = new WeakMap<() => KeySet, PublishedKeySet>();

/**
 * The set that a source stands for now. A function is called each time; while it returns the same object, that costs
 * one comparison.
 *
 * Whatever a source function throws passes through as it is, and changes nothing: the set before stays the one that
 * the next set is held against.
 *
 * @throws ConfigurationError when the source gives anything but a set made by `createKeySet`, and
 * (`code: "kid_rebound"`) when a `kid` of the set before names another key in the new one.
 * @example
 * ```ts
 * import { currentKeySet, type KeySetSource } from "@signpost/core";
 *
 * export const activeKid = (keys: KeySetSource): string => currentKeySet(keys).active.keyId;
 * ```
 */
export function currentKeySet(keys: KeySetSource): KeySet {
  const source = isSchedule(keys) ? keys.keySet : keys;
  if (typeof source !== "function") return requireMade(source);
  const next = requireMade(source());
  const previous = lastAccepted.get(source);
  if (next === previous) return next;
  if (previous !== undefined) refuseRebinding(previous, next);
  lastAccepted.set(source, next);
  return next;
}

/** The set to go on with while the source fails: the last one it gave that was accepted, if any. */
export function lastKeySet(keys: KeySetSource): KeySet | undefined {
  const source = isSchedule(keys) ? keys.keySet : keys;
  return typeof source === "function" ? lastAccepted.get(source) : source;
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
  return found.publicKey.x === key.publicKey.x && found.publicKey.y === key.publicKey.y;
}

/** Checks what can be checked without calling the source. */
export function requireSource(value: unknown): asserts value is KeySetSource {
  if (typeof value !== "function" && !isSchedule(value)) requireMade(value);
}

/** By its members, so that a schedule of another copy of this package is one too. */
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
  throw new ConfigurationError(
    "keys",
    "expected a key set made by createKeySet, a function that returns one, or a rotation schedule",
  );
}

function refuseRebinding(previous: KeySet, next: KeySet): void {
  for (const key of next.keys) {
    const before = previous.find(key.keyId);
    if (before === undefined || sameKey(before, key)) continue;
    const problem = `the kid ${JSON.stringify(key.keyId)} named another key in the set before; give the new key a kid of its own`;
    throw new ConfigurationError("keys", problem, { code: "kid_rebound" });
  }
}

/** Published members have one spelling and one order, so equal keys are equal texts. */
function sameKey(a: PublishedKey, b: PublishedKey): boolean {
  return JSON.stringify(a.publicKey) === JSON.stringify(b.publicKey);
}
