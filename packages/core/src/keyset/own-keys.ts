import { readKeySet, type KeySetOptions } from "./create-key-set.ts";
import { isSchedule, requireSource } from "./source.ts";
import type { KeySetEntry, KeySetSource, OwnKeys, PublishedKey } from "./types.ts";

/** The option `keys`, read: the source of the key set, and the settings that a schedule adds. */
export interface ReadOwnKeys {
  /** The set, or the function or schedule that returns the current set. */
  readonly source: KeySetSource;
  /** The cache mode of a schedule. Undefined without a schedule. */
  readonly jwksRotationActive: (() => boolean) | undefined;
  /** The keys of a schedule that are only accepted for an `id_token_hint`. */
  readonly withdrawn: () => readonly PublishedKey[];
  /** The latest `exp` that a schedule allows. Undefined if there is no limit. */
  readonly latestExpiry: (() => number) | undefined;
}

const NONE: readonly PublishedKey[] = Object.freeze([]);

/**
 * Reads the option `keys`. A list of entries becomes a key set each time, so call this once at construction, not for each
 * token. If `keys` is a function, it is not called.
 *
 * @throws ConfigurationError for anything that is not `OwnKeys`, and for anything that `createKeySet` refuses.
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
