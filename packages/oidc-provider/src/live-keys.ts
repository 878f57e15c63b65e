import type { ActiveKey, KeySet, PublishedKey } from "@signpost/core";
import { followKeys, type FollowedKeys, type ReadOwnKeys } from "@signpost/core/adapter";

/** The current keys of an OP, for a host that keeps the key objects of its construction. */
export interface LiveKeys extends Pick<FollowedKeys, "signing" | "whilePublished"> {
  /** The active key. While the source fails, the last known one, since the host reads it where errors are not allowed. */
  active(): ActiveKey;
  /**
   * All ES256 keys except the active one that may have signed a token, without duplicates, withdrawn ones last. While the
   * source fails, the last known ones. Legacy keys are left out, since the host only accepts a hint with the client's
   * current algorithm. The same array until something changes.
   */
  verifying(): readonly PublishedKey[];
}

export function liveKeys({ source, withdrawn }: Pick<ReadOwnKeys, "source" | "withdrawn">): LiveKeys {
  const { lastKnown, signing, whilePublished } = followKeys(source);
  let past = withdrawn();
  let listed:
    | { readonly of: KeySet; readonly past: readonly PublishedKey[]; readonly keys: PublishedKey[] }
    | undefined;

  const readPast = (): void => {
    try {
      past = withdrawn();
    } catch {
      // The next signature fails with the same error.
    }
  };
  return {
    signing,
    whilePublished,
    active: () => lastKnown().active,
    verifying: () => {
      const set = lastKnown();
      readPast();
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
