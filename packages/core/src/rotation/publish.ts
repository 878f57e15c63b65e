import { ConfigurationError } from "../errors.ts";
import { refuseDuplicates } from "../keyset/create-key-set.ts";
import { PublishedKeySet } from "../keyset/published-set.ts";
import type { ActiveKey, KeySet, PublishedKey } from "../keyset/types.ts";
import { type Phase, phaseAt, type PlannedKey } from "./timeline.ts";

/** What is published, and what is withdrawn, at a moment. */
export interface Publisher {
  readonly keySetAt: (time: number) => KeySet;
  readonly withdrawnAt: (time: number) => readonly PublishedKey[];
}

/**
 * Gives the same object whenever the same keys are in the same phases, also when the clock steps back and forth.
 *
 * A set holds the active key, the retiring ones from the newest, the announced ones from the next, then the keys that
 * are no part of the schedule.
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
    // Of the few keys that count: a long schedule has thousands of others.
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

/** An entry has one `ActiveKey` in all sets: on it hangs whether its first signature was verified. */
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
  refuseDuplicates("entries", [...keys.map((key) => key.key.published), ...trailing]);
  const seen = new Map<string, string>();
  for (const { argument, key } of keys) {
    const { x, y } = key.published.publicKey;
    const before = seen.get(`${x}.${y}`);
    if (before !== undefined)
      throw new ConfigurationError(argument, `expected a key of its own, got that of ${before}`);
    seen.set(`${x}.${y}`, argument);
  }
}
