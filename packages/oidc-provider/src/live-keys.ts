import {
  ConfigurationError,
  currentKeySet,
  type ActiveKey,
  type KeySet,
  type KeySetSource,
  type PublishedKey,
} from "@signpost/core";

/** A schedule, as far as it matters here: it also knows the keys that only verify an `id_token_hint`. */
export interface ScheduleLike {
  readonly keySet: () => KeySet;
  readonly withdrawn: () => readonly PublishedKey[];
}

/** The keys of an OP as they are now, for a host that holds on to what it was constructed with. */
export interface LiveKeys {
  /** The key that signs now. */
  active(): ActiveKey;
  /** The key that a header names, if it may sign: the active one, or the one before while it is published. */
  signing(keyId: string): ActiveKey | undefined;
  /**
   * Every ES256 key but the active one that may have signed a token, withdrawn ones last. Legacy keys are left out: the
   * host accepts a hint only under the client's present algorithm.
   */
  verifying(): readonly PublishedKey[];
}

export function liveKeys(keys: KeySetSource | ScheduleLike): LiveKeys {
  const source = isSchedule(keys) ? keys.keySet : keys;
  const withdrawn = isSchedule(keys) ? keys.withdrawn : () => [];
  let current = currentKeySet(source);
  let previous: ActiveKey | undefined;

  const now = (): KeySet => {
    const next = currentKeySet(source);
    if (next !== current) {
      if (next.active.keyId !== current.active.keyId) previous = current.active;
      current = next;
    }
    return next;
  };
  return {
    active: () => now().active,
    signing: (keyId) => {
      const set = now();
      if (keyId === set.active.keyId) return set.active;
      // The host wrote its header just before the set changed. A key that was revoked since is published no more.
      return keyId === previous?.keyId && set.find(keyId) !== undefined ? previous : undefined;
    },
    verifying: () => {
      const set = now();
      const published = set.keys.filter(
        (key) => key.use === "sig" && key.alg === "ES256" && key.keyId !== set.active.keyId,
      );
      return [...published, ...withdrawn()];
    },
  };
}

function isSchedule(keys: KeySetSource | ScheduleLike): keys is ScheduleLike {
  if (typeof keys === "object" && keys !== null && "keySet" in keys) {
    if (typeof keys.keySet === "function" && typeof keys.withdrawn === "function") return true;
    throw new ConfigurationError("keys", "expected a key set, a function that returns one, or a rotation schedule");
  }
  return false;
}
