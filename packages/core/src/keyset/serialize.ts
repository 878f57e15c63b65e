import { ConfigurationError } from "../errors.ts";
import { given } from "../given.ts";
import { PublishedKeySet } from "./published-set.ts";
import type { JwksDocument, KeySet } from "./types.ts";

/**
 * The JWKS document of a set (RFC 7517 section 5): compact JSON in UTF-8, and its strong ETag, the lower-case SHA-256 hex
 * of exactly these bytes in quotes. Both were computed when the set was created, so every call returns the same object.
 * The endpoint serves the same bytes, so do not change them.
 *
 * @throws ConfigurationError if `keys` does not come from `createKeySet`.
 * @example
 * ```ts
 * import { createKeySet, serializeJwks, type Signer } from "@signpost/core";
 *
 * export function publishedBytes(signer: Signer): Uint8Array {
 *   return serializeJwks(createKeySet([{ keyId: "sig-2026", signer }])).body;
 * }
 * ```
 */
export function serializeJwks(keys: KeySet): JwksDocument {
  if (PublishedKeySet.isMade(keys)) return PublishedKeySet.documentOf(keys);
  throw new ConfigurationError("keys", `expected a key set made by createKeySet, got ${given(keys)}`);
}
