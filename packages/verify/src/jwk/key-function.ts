import type { CryptoKey, FlattenedJWSInput, JWSHeaderParameters } from "jose";

/**
 * Finds the key of a token by its protected header. Pass it to jose's `jwtVerify`, `compactVerify`, `flattenedVerify` or
 * `generalVerify`. It does not read `token`. Rejects with `KeySetError`.
 */
export type KeyFunction = (protectedHeader?: JWSHeaderParameters, token?: FlattenedJWSInput) => Promise<CryptoKey>;
