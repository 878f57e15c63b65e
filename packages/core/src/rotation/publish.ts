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
  const keysAt = keyFinder(keys);
  const inPhase = (role: Phase & PublishedKey["role"], time: number): PublishedKey[] =>
    keysAt(time)
      .filter((key) => phaseAt(key, time) === role)
      .map((key) => Object.freeze({ ...key.key.published, role }));
  const activeKeys = new Map<PlannedKey<Entry>, ActiveKey>();

  const publish = (time: number): KeySet => {
    const active = keysAt(time).find((key) => phaseAt(key, time) === "active");
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
    keySetAt: oncePerConstellation(keysAt, ["active", "retiring", "announced"], publish),
    withdrawnAt: oncePerConstellation(keysAt, ["withdrawn"], withdraw),
  };
}

/**
 * Finds the few keys that matter at a time. A long schedule has thousands of others, and a program may walk it from change to
 * change, so looking at one of those must cost next to nothing.
 */
function keyFinder<Entry>(keys: readonly PlannedKey<Entry>[]): (time: number) => readonly PlannedKey<Entry>[] {
  // An emergency may activate a key before its announcement.
  const starts = Float64Array.from(keys, (key) => Math.min(key.announcedFrom, key.activeFrom));
  const ends = Float64Array.from(keys, (key) => key.droppedFrom);
  return (time) => keys.filter((_key, index) => time >= (starts[index] ?? 0) && time < (ends[index] ?? 0));
}

function oncePerConstellation<Made>(
  keysAt: (time: number) => readonly PlannedKey<unknown>[],
  phases: readonly Phase[],
  make: (time: number) => Made,
): (time: number) => Made {
  const made = new Map<string, Made>();
  return (time) => {
    const constellation = keysAt(time)
      .flatMap((key) => {
        const phase = phaseAt(key, time);
        return phases.includes(phase) ? `${key.argument} ${phase}` : [];
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
  // No two entries have the same key.
  const check = createKeyCheck();
  for (const key of keys) check(key);
}

/** Refuses each entry whose key an earlier one has. */
export function createKeyCheck(): (key: PlannedKey<unknown>) => void {
  const seen = new Map<string, string>();
  return ({ argument, key }) => {
    const { x, y } = key.published.publicKey;
    const before = seen.get(`${x}.${y}`);
    if (before !== undefined)
      throw new ConfigurationError(argument, `expected a different key, got the key of ${before}`);
    seen.set(`${x}.${y}`, argument);
  };
}
