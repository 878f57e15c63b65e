import type { CryptoKey, FlattenedJWSInput, JWSHeaderParameters } from "jose";
import type { VerifierKey } from "./import-public-jwk.ts";
import type { SelectingHeader } from "./select.ts";

/**
 * Finds the key of a token by its protected header. Pass it to jose's `jwtVerify`, `compactVerify`, `flattenedVerify` or
 * `generalVerify`. It does not read `token`. Rejects with `KeySetError`.
 */
export type KeyFunction = (protectedHeader?: JWSHeaderParameters, token?: FlattenedJWSInput) => Promise<CryptoKey>;

/** Finds the key of a header. The signal releases only this caller. */
export type FindKey = (header: SelectingHeader | undefined, signal?: AbortSignal) => Promise<VerifierKey>;

/** Hidden from callers, because only this copy of the package can use it. */
const FIND_KEY: unique symbol = Symbol("find key");

/** What every key function of this package has: the key before it is imported for jose. */
export interface FindsKeys {
  readonly [FIND_KEY]: { readonly find: FindKey; readonly owner: KeyFunction };
}

/** The key function that callers get. */
export function keyFunctionOf(find: FindKey): KeyFunction & FindsKeys {
  const owner: KeyFunction = async (header) => {
    const key = await find(header);
    // A key was found, so the header has an `alg`.
    return key.cryptoKey(header?.alg ?? "");
  };
  return Object.assign(owner, { [FIND_KEY]: { find, owner } });
}

/**
 * How a key function finds keys. `undefined` for a function that another package or the caller made, even if it has copies of the
 * members of ours: it may refuse keys that ours would find.
 */
export function findKeyOf(keyFunction: KeyFunction & FindsKeys): FindKey;
export function findKeyOf(keyFunction: KeyFunction): FindKey | undefined;
export function findKeyOf(keyFunction: KeyFunction & Partial<FindsKeys>): FindKey | undefined {
  const finds = keyFunction[FIND_KEY];
  return finds?.owner === keyFunction ? finds.find : undefined;
}
