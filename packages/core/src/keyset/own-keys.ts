import { readKeySet, type KeySetOptions } from "./create-key-set.ts";
import { isSchedule, requireSource } from "./source.ts";
import type { KeySetEntry, KeySetSource, OwnKeys, PublishedKey } from "./types.ts";

/** What `keys` stands for: where the set comes from, and what a schedule brings with it. */
export interface ReadOwnKeys {
  /** The set, or where the set of each moment comes from. */
  readonly source: KeySetSource;
  /** The cache mode of a schedule. */
  readonly jwksRotationActive: (() => boolean) | undefined;
  /** The keys of a schedule that are accepted for an `id_token_hint` alone. */
  readonly withdrawn: () => readonly PublishedKey[];
  /** The latest `exp` that a schedule can keep. Undefined where nothing bounds it. */
  readonly latestExpiry: (() => number) | undefined;
}

const NONE: readonly PublishedKey[] = Object.freeze([]);

/**
 * Reads the option `keys`. A list of entries becomes a set, now and once: call it where something is made, and not for
 * each token. A function is not called.
 *
 * @throws ConfigurationError for anything that is no `OwnKeys`, and whatever `createKeySet` refuses.
 * @example
 * ```ts
 * import { currentKeySet, type OwnKeys } from "@signpost/core";
 * import { readOwnKeys } from "@signpost/core/adapter";
 *
 * export function kidReader(keys: OwnKeys): () => string {
 *   const { source } = readOwnKeys(keys);
 *   return () => currentKeySet(source).active.keyId;
 * }
 * ```
 */
export function readOwnKeys(keys: OwnKeys, options: KeySetOptions = {}): ReadOwnKeys {
  const source = isEntryList(keys) ? readKeySet("keys", keys, options) : keys;
  requireSource(source);
  if (isSchedule(source)) {
    return {
      source,
      jwksRotationActive: () => source.jwksRotationActive(),
      withdrawn: () => source.withdrawn(),
      latestExpiry: () => source.latestExpiry(),
    };
  }
  return { source, jwksRotationActive: undefined, withdrawn: () => NONE, latestExpiry: undefined };
}

function isEntryList(keys: OwnKeys): keys is readonly KeySetEntry[] {
  return Array.isArray(keys);
}
