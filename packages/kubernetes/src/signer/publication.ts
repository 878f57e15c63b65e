import { jwkToSpki, type KeySet } from "@signpost/core";
import type { FetchedKey, FetchedKeys } from "../signer-types.ts";

/** The largest hint, in seconds: an hour. */
export const MAX_HINT_SECONDS = 3600;

/** What is published at a time. */
export interface Current {
  readonly keySet: KeySet;
  readonly legacy: readonly FetchedKey[];
  /** When a schedule changes next, in milliseconds since 1970, or Infinity. */
  readonly nextChange: number;
}

/** Remembers when the published keys changed. */
export interface Publication {
  /** The answer to `FetchKeys` at a time, in milliseconds since 1970. */
  answer(current: Current, time: number, hintSeconds: number): FetchedKeys;
}

interface State {
  readonly keySet: KeySet;
  readonly legacy: readonly FetchedKey[];
  readonly keys: readonly FetchedKey[];
  readonly changedAt: number;
  readonly nextChange: number;
}

export function createPublication(): Publication {
  let state: State | undefined;

  const stateAt = ({ keySet, legacy, nextChange }: Current, time: number): State => {
    if (state !== undefined && state.keySet === keySet && state.legacy === legacy && state.nextChange === nextChange) {
      return state;
    }
    const keys = [...signingKeys(keySet), ...withoutOwn(legacy, keySet)];
    // The cache mode of a schedule may change alone, and so may a configuration that is loaded again.
    if (state !== undefined && isSame(state.keys, keys)) return { ...state, keySet, legacy, nextChange };
    // A request may come long after the change.
    const changedAt = state !== undefined && state.nextChange <= time ? state.nextChange : time;
    return { keySet, legacy, keys, changedAt, nextChange };
  };

  return {
    answer(current, time, hintSeconds) {
      state = stateAt(current, time);
      return {
        keys: state.keys,
        dataTimestamp: new Date(state.changedAt),
        refreshHintSeconds: hintOf(hintSeconds, state.nextChange - time),
      };
    },
  };
}

/** The least of the setting, the time until the next change, and an hour. kube-apiserver takes only a hint above 0. */
function hintOf(hintSeconds: number, untilChangeMs: number): number {
  return Math.max(1, Math.min(hintSeconds, Math.ceil(untilChangeMs / 1000), MAX_HINT_SECONDS));
}

/**
 * Legacy keys whose `kid` no key of the set has. A schedule announces a key long after the configuration was checked, and that a
 * legacy key is the same one must not stop the signing then.
 */
export function withoutOwn<Key extends FetchedKey>(legacy: readonly Key[], keySet: KeySet): readonly Key[] {
  return legacy.filter(({ keyId }) => keySet.find(keyId) === undefined);
}

/** Without legacy and encryption keys of the set: those of RFC 8037 would freeze the keys of kube-apiserver. */
function signingKeys({ keys }: KeySet): readonly FetchedKey[] {
  return keys
    .filter(({ alg, use }) => alg === "ES256" && use === "sig")
    .map(({ keyId, publicKey }) => ({ keyId, spki: jwkToSpki(publicKey), excludeFromDiscovery: false }));
}

function isSame(some: readonly FetchedKey[], others: readonly FetchedKey[]): boolean {
  return (
    some.length === others.length &&
    some.every(({ keyId, spki, excludeFromDiscovery }, index) => {
      const other = others[index];
      return (
        other?.keyId === keyId &&
        other.excludeFromDiscovery === excludeFromDiscovery &&
        Buffer.compare(other.spki, spki) === 0
      );
    })
  );
}
