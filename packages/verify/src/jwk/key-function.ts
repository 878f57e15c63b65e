import type { CryptoKey, FlattenedJWSInput, JWSHeaderParameters } from "jose";

/**
 * Finds the key of a token by its protected header, as jose's `jwtVerify`, `compactVerify`, `flattenedVerify` and
 * `generalVerify` take it. `token` is not read. Rejects with `KeySetError`.
 */
export type KeyFunction = (protectedHeader?: JWSHeaderParameters, token?: FlattenedJWSInput) => Promise<CryptoKey>;
