import { ConfigurationError } from "../errors.ts";
import { isThenable, swallowRejection } from "../thenable.ts";
import { PublishedKeySet } from "./published-set.ts";
import type { KeySet, KeySetSource, PublishedKey } from "./types.ts";

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
 * export const activeKid = (source: KeySetSource): string => currentKeySet(source).active.keyId;
 * ```
 */
export function currentKeySet(source: KeySetSource): KeySet {
  if (typeof source !== "function") return requireMade(source);
  const next = requireMade(source());
  const previous = lastAccepted.get(source);
  if (next === previous) return next;
  if (previous !== undefined) refuseRebinding(previous, next);
  lastAccepted.set(source, next);
  return next;
}

/** The set to go on with while the source fails: the last one it gave that was accepted, if any. */
export function lastKeySet(source: KeySetSource): KeySet | undefined {
  return typeof source === "function" ? lastAccepted.get(source) : source;
}

/** Checks what can be checked without calling the source. */
export function requireSource(value: unknown): asserts value is KeySetSource {
  if (typeof value !== "function") requireMade(value);
}

function requireMade(value: unknown): PublishedKeySet {
  if (PublishedKeySet.isMade(value)) return value;
  if (isThenable(value)) {
    swallowRejection(value);
    throw new ConfigurationError("keyset", "expected a source that returns its key set at once, got a promise");
  }
  throw new ConfigurationError("keyset", "expected a key set made by createKeySet, or a function that returns one");
}

function refuseRebinding(previous: KeySet, next: KeySet): void {
  for (const key of next.keys) {
    const before = previous.find(key.keyId);
    if (before === undefined || sameKey(before, key)) continue;
    const problem = `the kid ${JSON.stringify(key.keyId)} named another key in the set before; give the new key a kid of its own`;
    throw new ConfigurationError("keyset", problem, { code: "kid_rebound" });
  }
}

/** Published members have one spelling and one order, so equal keys are equal texts. */
function sameKey(a: PublishedKey, b: PublishedKey): boolean {
  return JSON.stringify(a.publicKey) === JSON.stringify(b.publicKey);
}
