import { ConfigurationError, SignerError } from "../errors.ts";
import { currentKeySet, isStillPublished } from "../keyset/source.ts";
import type { ActiveKey, KeySet, KeySetSource } from "../keyset/types.ts";

/** The keys of a source, for hosts that write the header of a token some time before they have it signed. */
export interface FollowedKeys {
  /** The current set. Throws what the source throws. */
  current(): KeySet;
  /** The current set, or the last known one while the source fails. */
  lastKnown(): KeySet;
  /**
   * The key with this kid, if it may sign: the active key, or the previous one while it is still published. Otherwise throws
   * ConfigurationError, or SignerError `unavailable` if the previous key was withdrawn. Throws what the source throws.
   */
  signing(keyId: string): ActiveKey;
  /** The kid of the key for which this is true: the active key, or the previous one. Throws what the source throws. */
  kidWhere(isKey: (key: ActiveKey) => boolean): string | undefined;
  /** The result, if the key is still published afterward. If a key was revoked, that says more than its failure. */
  whilePublished<Result>(key: ActiveKey, signing: Promise<Result>): Promise<Result>;
}

/**
 * Follows the changes of a source. It remembers the active key before the last change, since the header of a token may name
 * it. A key revoked since then is not published, and does not sign.
 *
 * @throws what the source throws.
 * @example
 * ```ts
 * import { type KeySetSource, signWith } from "@signpost/core";
 * import { followKeys } from "@signpost/core/adapter";
 *
 * export function signerOf(keys: KeySetSource) {
 *   const followed = followKeys(keys);
 *   return (kid: string, data: Uint8Array): Promise<Uint8Array> => {
 *     const key = followed.signing(kid);
 *     return followed.whilePublished(key, signWith(key, data));
 *   };
 * }
 * ```
 */
export function followKeys(source: KeySetSource): FollowedKeys {
  let last = currentKeySet(source);
  let previous: ActiveKey | undefined;

  const current = (): KeySet => {
    const next = currentKeySet(source);
    if (next !== last) {
      if (next.active.keyId !== last.active.keyId) previous = last.active;
      last = next;
    }
    return next;
  };
  /** False while the source fails: what the signer failed with came first, and says whether to try again. */
  const isKnownWithdrawn = (key: ActiveKey): boolean => {
    try {
      return !isStillPublished(current(), key);
    } catch {
      return false;
    }
  };
  return {
    current,
    lastKnown: () => {
      try {
        return current();
      } catch {
        // The next signature fails with the same error.
        return last;
      }
    },
    signing: (keyId) => {
      const set = current();
      if (keyId === set.active.keyId) return set.active;
      if (previous === undefined || keyId !== previous.keyId) throw unknownKid();
      if (isStillPublished(set, previous)) return previous;
      throw withdrawnMeanwhile(keyId);
    },
    kidWhere: (isKey) => {
      const { active } = current();
      const keys = previous === undefined ? [active] : [active, previous];
      return keys.find(isKey)?.keyId;
    },
    whilePublished: async (key, signing) => {
      const result = await signing.catch((error: unknown) => {
        throw isKnownWithdrawn(key) ? withdrawnMeanwhile(key.keyId, error) : error;
      });
      if (isStillPublished(current(), key)) return result;
      throw withdrawnMeanwhile(key.keyId);
    },
  };
}

function unknownKid(): ConfigurationError {
  return new ConfigurationError("kid", "expected the kid of the active key or of the previous one");
}

/** The host wrote the header, so no other key can sign this token. A retry gets a new header from the host. */
function withdrawnMeanwhile(keyId: string, cause?: unknown): SignerError {
  const problem = `the key with kid ${JSON.stringify(keyId)} was withdrawn before it returned its signature`;
  return new SignerError("unavailable", problem, cause === undefined ? {} : { cause });
}
