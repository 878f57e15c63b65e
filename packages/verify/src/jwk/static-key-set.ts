import type { CryptoKey, JWSHeaderParameters } from "jose";
import { KeySetError } from "../errors.ts";
import type { DropReason } from "./parse-jwk.ts";
import { parseJwks } from "./parse-jwks.ts";
import { keyRequest, selectKey } from "./select.ts";

export interface StaticKeySetOptions {
  /** Accepts a header without `kid` where exactly one key fits. Default false. */
  readonly allowMissingKid?: boolean | undefined;
  /** Most entries in the set. Default 64. */
  readonly maxKeys?: number | undefined;
}

/** A JWK Set that is at hand, callable as jose's key function. */
export interface StaticKeySet {
  (protectedHeader?: JWSHeaderParameters): Promise<CryptoKey>;
  /** Entries that were left out, by reason. */
  readonly dropped: Readonly<Partial<Record<DropReason, number>>>;
}

/**
 * The `jwks` that a client registered, read and selected from by the same rules as a remote set.
 *
 * Throws `KeySetError`: `invalid_jwks`, `no_usable_key`; the key function rejects with `KeySetError`.
 *
 * ```ts
 * import { createStaticKeySet } from "@signpost/verify";
 *
 * export const keysOf = (registered: { jwks: { keys: unknown[] } }) => createStaticKeySet(registered.jwks);
 * ```
 */
export function createStaticKeySet(
  jwks: { readonly keys: readonly unknown[] },
  options: StaticKeySetOptions = {},
): StaticKeySet {
  const { keys, dropped } = parseJwks(jwks, options.maxKeys ?? 64);
  const keyFunction = async (header?: JWSHeaderParameters): Promise<CryptoKey> => {
    const request = keyRequest(header, options.allowMissingKid ?? false);
    const key = selectKey(keys, request);
    if (key === undefined) throw new KeySetError("unknown_kid", "no key in the set fits the header");
    return key.cryptoKey(request.alg);
  };
  return Object.assign(keyFunction, { dropped });
}
