import { ConfigurationError } from "../errors.ts";
import { refuseDuplicates } from "../keyset/create-key-set.ts";
import { PublishedKeySet } from "../keyset/published-set.ts";
import type { ActiveKey, KeyRole, KeySet, PublishedKey } from "../keyset/types.ts";
import { phaseAt, type PlannedKey } from "./timeline.ts";

/** What holds for one constellation of phases. */
export interface Published {
  readonly keySet: KeySet;
  readonly withdrawn: readonly PublishedKey[];
}

/**
 * The set at a moment: the active key, the retiring ones from the newest, the announced ones from the next, then the
 * keys that are no part of the schedule. An entry has one `ActiveKey` in all sets (`activeKeys`), on which hangs
 * whether its first signature was verified.
 */
export function publish<Entry>(
  keys: readonly PlannedKey<Entry>[],
  time: number,
  trailing: readonly PublishedKey[],
  activeKeys: Map<PlannedKey<Entry>, ActiveKey>,
): Published {
  const inPhase = (role: KeyRole): PublishedKey[] =>
    keys.filter((key) => phaseAt(key, time) === role).map((key) => Object.freeze({ ...key.key.published, role }));
  const active = keys.find((key) => phaseAt(key, time) === "active");
  if (active === undefined) throw new ConfigurationError("entries", "expected an entry that is active now");
  const signing = [...inPhase("active"), ...inPhase("retiring").toReversed(), ...inPhase("announced")];
  return {
    keySet: new PublishedKeySet(activeKeyOf(active, activeKeys), [...signing, ...trailing]),
    withdrawn: Object.freeze(inPhase("withdrawn").toReversed()),
  };
}

function activeKeyOf<Entry>(key: PlannedKey<Entry>, activeKeys: Map<PlannedKey<Entry>, ActiveKey>): ActiveKey {
  let active = activeKeys.get(key);
  if (active === undefined) {
    const { published, signer } = key.key;
    if (signer === undefined) throw new ConfigurationError(key.argument, "expected a signer: the entry is active now");
    active = Object.freeze({ keyId: published.keyId, publicKey: published.publicKey, signer });
    activeKeys.set(key, active);
  }
  return active;
}

/** A kid names one key for good, and a key has one kid: over the whole schedule, not only in one set. */
export function requireDistinct(keys: readonly PlannedKey<unknown>[], trailing: readonly PublishedKey[]): void {
  const published = keys.map((key) => key.key.published);
  refuseDuplicates("entries", [...published, ...trailing]);
  const seen = new Map<string, string>();
  for (const { argument, key } of keys) {
    const { x, y } = key.published.publicKey;
    const before = seen.get(`${x}.${y}`);
    if (before !== undefined)
      throw new ConfigurationError(argument, `expected a key of its own, got that of ${before}`);
    seen.set(`${x}.${y}`, argument);
  }
}
