import { currentKeySet, type ActiveKey, type KeySet, type PublishedKey } from "@signpost/core";
import { isStillPublished, type ReadOwnKeys } from "@signpost/core/adapter";

/** The keys of an OP as they are now, for a host that holds on to what it was constructed with. */
export interface LiveKeys {
  /** The key that signs now. While the source fails, the one that signed last: the host reads it where nothing may fail. */
  active(): ActiveKey;
  /**
   * The key that a header names, if it may sign: the active one, or the one before while it is published. Throws what
   * the source throws.
   */
  signing(keyId: string): ActiveKey | undefined;
  /** Whether a key that signed is still published. Throws what the source throws. */
  isPublished(key: ActiveKey): boolean;
  /** Whether a kid was that of the active key, and is published no more. Throws what the source throws. */
  wasWithdrawn(keyId: string): boolean;
  /**
   * Every ES256 key but the active one that may have signed a token, each once, withdrawn ones last. While
   * the source fails, the last ones it gave. Legacy keys are left out: the host accepts a hint only under the client's
   * present algorithm. The same array until something changed.
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
      // The next signature fails with it, and says so.
      return current;
    }
  };
  return {
    active: () => lastKnown().active,
    signing: (keyId) => {
      const set = now();
      if (keyId === set.active.keyId) return set.active;
      // The host wrote its header just before the set changed. A key that was revoked since is published no more.
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
