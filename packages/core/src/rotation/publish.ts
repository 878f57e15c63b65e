import { ConfigurationError } from "../errors.ts";
import { activeKeyFrom, refuseDuplicates } from "../keyset/create-key-set.ts";
import { PublishedKeySet } from "../keyset/published-set.ts";
import type { ActiveKey, KeySet, PublishedKey } from "../keyset/types.ts";
import { type Phase, phaseAt, type PlannedKey } from "./timeline.ts";

/** What is published and what is withdrawn at a given time. */
export interface Publisher {
  readonly keySetAt: (time: number) => KeySet;
  readonly withdrawnAt: (time: number) => readonly PublishedKey[];
}

/**
 * Returns the same object whenever the same keys are in the same phases, even if the clock jumps back and forth.
 *
 * Order in a set: the active key, the retiring keys from newest to oldest, the announced keys from the next one on, then
 * the keys that are not part of the schedule.
 */
export function createPublisher<Entry>(
  keys: readonly PlannedKey<Entry>[],
  trailing: readonly PublishedKey[],
): Publisher {
  const inPhase = (role: Phase & PublishedKey["role"], time: number): PublishedKey[] =>
    keys.filter((key) => phaseAt(key, time) === role).map((key) => Object.freeze({ ...key.key.published, role }));
  const activeKeys = new Map<PlannedKey<Entry>, ActiveKey>();

  const publish = (time: number): KeySet => {
    const active = keys.find((key) => phaseAt(key, time) === "active");
    if (active === undefined) throw new ConfigurationError("entries", "expected an entry that is active now");
    return new PublishedKeySet(activeKeyOf(active, activeKeys), [
      ...inPhase("active", time),
      ...inPhase("retiring", time).toReversed(),
      ...inPhase("announced", time),
      ...trailing,
    ]);
  };
  const withdraw = (time: number): readonly PublishedKey[] => Object.freeze(inPhase("withdrawn", time).toReversed());
  return {
    keySetAt: oncePerConstellation(keys, ["active", "retiring", "announced"], publish),
    withdrawnAt: oncePerConstellation(keys, ["withdrawn"], withdraw),
  };
}

function oncePerConstellation<Made>(
  keys: readonly PlannedKey<unknown>[],
  phases: readonly Phase[],
  make: (time: number) => Made,
): (time: number) => Made {
  const made = new Map<string, Made>();
  return (time) => {
    // Only the few keys that matter now. A long schedule has thousands of others.
    const constellation = keys
      .flatMap((key, index) => {
        const phase = phaseAt(key, time);
        return phases.includes(phase) ? `${index} ${phase}` : [];
      })
      .join();
    const before = made.get(constellation);
    if (before !== undefined) return before;
    const first = make(time);
    made.set(constellation, first);
    return first;
  };
}

/** An entry has the same `ActiveKey` in all sets, because that object records whether its first signature was verified. */
function activeKeyOf<Entry>(key: PlannedKey<Entry>, activeKeys: Map<PlannedKey<Entry>, ActiveKey>): ActiveKey {
  let active = activeKeys.get(key);
  if (active === undefined) {
    const { published, signer } = key.key;
    if (signer === undefined) throw new ConfigurationError(key.argument, "expected a signer: the entry is active now");
    active = activeKeyFrom(published, signer);
    activeKeys.set(key, active);
  }
  return active;
}

/** In the whole schedule, not only in one set, a kid names one key and a key has one kid. */
export function requireDistinct(keys: readonly PlannedKey<unknown>[], trailing: readonly PublishedKey[]): void {
  refuseDuplicates("entries", [...keys.map((key) => key.key.published), ...trailing]);
  requireDistinctKeys(keys);
}

/** No two entries have the same key. */
export function requireDistinctKeys(keys: readonly PlannedKey<unknown>[]): void {
  const seen = new Map<string, string>();
  for (const { argument, key } of keys) {
    const { x, y } = key.published.publicKey;
    const before = seen.get(`${x}.${y}`);
    if (before !== undefined)
      throw new ConfigurationError(argument, `expected a different key, got the key of ${before}`);
    seen.set(`${x}.${y}`, argument);
  }
}
