import { assertOptions, readFlag } from "@signpost/core/adapter";
import type { OptionNames } from "@signpost/core/adapter";
import { KeySetError } from "../errors.ts";
import type { FindsKeys, KeyFunction } from "./key-function.ts";
import { keyFunctionOf } from "./key-function.ts";
import type { KidMemory } from "./kid-memory.ts";
import type { DropReason } from "./parse-jwk.ts";
import type { ParsedJwks } from "./parse-jwks.ts";
import { parseJwks, readMaxKeys } from "./parse-jwks.ts";
import { keyRequest, selectKey } from "./select.ts";

/** Options of `createStaticKeySet`. */
export interface StaticKeySetOptions {
  /** Accepts a header without `kid` if exactly one key fits. Default false. */
  readonly allowMissingKid?: boolean | undefined;
  /** Maximum number of entries in the set. A whole number, 1 to 10,000, default 64. */
  readonly maxKeys?: number | undefined;
}

const STATIC_KEY_SET_OPTIONS: OptionNames<StaticKeySetOptions> = { allowMissingKid: true, maxKeys: true };

/** Finds keys in a JWK Set that you already have. A key function for jose. */
export interface StaticKeyFunction extends KeyFunction {
  /** Entries that were left out, by reason. */
  readonly dropped: Readonly<Partial<Record<DropReason, number>>>;
}

/**
 * A key function for a `jwks` that a client registered. It follows the same rules as a remote set.
 *
 * The key function rejects with `KeySetError`: `missing_kid`, `unknown_kid`, `unsupported_alg`, `no_suitable_key`,
 * `ambiguous_key`, `key_left_out`.
 *
 * @throws KeySetError `invalid_jwks`, `no_usable_key`; ConfigurationError for an option that cannot work.
 * @example
 * ```ts
 * import { createStaticKeySet } from "@signpost/verify";
 *
 * export const keysOf = (registered: { jwks: { keys: unknown[] } }) => createStaticKeySet(registered.jwks);
 * ```
 */
export function createStaticKeySet(
  jwks: { readonly keys: readonly unknown[] },
  options: StaticKeySetOptions = {},
): StaticKeyFunction {
  assertOptions("options", options, STATIC_KEY_SET_OPTIONS);
  return staticKeySet(jwks, {
    allowMissingKid: readFlag("allowMissingKid", options.allowMissingKid),
    maxKeys: readMaxKeys(options.maxKeys),
  });
}

/** The same with checked settings. A set that replaces another one shares its `kids`. */
export function staticKeySet(
  jwks: { readonly keys: readonly unknown[] },
  settings: { readonly allowMissingKid: boolean; readonly maxKeys: number },
  kids?: KidMemory,
): StaticKeyFunction & FindsKeys {
  const set = parseGiven(jwks, settings.maxKeys);
  const keyFunction = keyFunctionOf(async (header) => {
    const request = keyRequest(header, settings.allowMissingKid);
    const key = selectKey(set, request, kids);
    if (key instanceof KeySetError) throw key;
    return key;
  });
  return Object.assign(keyFunction, { dropped: set.dropped });
}

/** The network is not at fault, so the set stays unusable and the error is not transient. */
function parseGiven(jwks: unknown, maxKeys: number): ParsedJwks {
  try {
    return parseJwks(jwks, maxKeys);
  } catch (error) {
    if (error instanceof KeySetError) throw new KeySetError(error.code, error.message, { transient: false });
    throw error;
  }
}
