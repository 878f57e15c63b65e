import { currentKeySet, type ActiveKey, type KeySet, type PublishedKey } from "@signpost/core";
import { isStillPublished, type ReadOwnKeys } from "@signpost/core/adapter";

/** The current keys of an OP, for a host that keeps the key objects of its construction. */
export interface LiveKeys {
  /** The active key. While the source fails, the last known one, since the host reads it where errors are not allowed. */
  active(): ActiveKey;
  /**
   * The key with this kid, if it may sign: the active key, or the previous one while it is still published. Throws what the
   * source throws.
   */
  signing(keyId: string): ActiveKey | undefined;
  /** Whether a key that signed is still published. Throws what the source throws. */
  isPublished(key: ActiveKey): boolean;
  /** Whether a kid named the previous active key, which is no longer published. Throws what the source throws. */
  wasWithdrawn(keyId: string): boolean;
  /**
   * All ES256 keys except the active one that may have signed a token, without duplicates, withdrawn ones last. While the
   * source fails, the last known ones. Legacy keys are left out, since the host only accepts a hint with the client's
   * current algorithm. The same array until something changes.
   */
  verifying(): readonly PublishedKey[];
}

export function liveKeys({ source, withdrawn }: Pick<ReadOwnKeys, "source" | "withdrawn">): LiveKeys {
  let current = currentKeySet(source);
  let past = withdrawn();
  let previous: ActiveKey | undefined;
  let listed:
    | { readonly of: KeySet; readonly past: readonly PublishedKey[]; readonly keys: PublishedKey[] }
    | undefined;

  const now = (): KeySet => {
    const next = currentKeySet(source);
    if (next !== current) {
      if (next.active.keyId !== current.active.keyId) previous = current.active;
      current = next;
    }
    past = withdrawn();
    return next;
  };
  const lastKnown = (): KeySet => {
    try {
      return now();
    } catch {
      // The next signature fails with the same error.
      return current;
    }
  };
  return {
    active: () => lastKnown().active,
    signing: (keyId) => {
      const set = now();
      if (keyId === set.active.keyId) return set.active;
      // The host may have written the header just before the set changed. A key revoked since then is not published.
      return keyId === previous?.keyId && isStillPublished(set, previous) ? previous : undefined;
    },
    isPublished: (key) => isStillPublished(now(), key),
    wasWithdrawn: (keyId) => {
      const set = now();
      return keyId === previous?.keyId && !isStillPublished(set, previous);
    },
    verifying: () => {
      const set = lastKnown();
      if (listed?.of !== set || listed.past !== past) listed = { of: set, past, keys: verifyingKeys(set, past) };
      return listed.keys;
    },
  };
}

function verifyingKeys(set: KeySet, withdrawn: readonly PublishedKey[]): PublishedKey[] {
  const keys = new Map<string, PublishedKey>();
  for (const key of [...set.keys, ...withdrawn]) {
    if (key.use === "sig" && key.alg === "ES256" && !keys.has(key.keyId)) keys.set(key.keyId, key);
  }
  keys.delete(set.active.keyId);
  return [...keys.values()];
}
