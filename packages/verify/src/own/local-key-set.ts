import type { KeySetSource, PublishedKey } from "@signpost/core";
import { currentKeySet } from "@signpost/core";
import type { CryptoKey, FlattenedJWSInput, JWSHeaderParameters } from "jose";
import { KeySetError } from "../errors.ts";
import { importPublicJwk } from "../jwk/import-public-jwk.ts";
import { keyRequest } from "../jwk/select.ts";

export interface LocalKeySetOptions {
  /** Keys that left the set, of a rotation schedule: accepted for `id_token_hint` alone. Default none. */
  readonly withdrawn?: (() => readonly PublishedKey[]) | undefined;
}

/** The OP's own key set, for the OP's own verification: callable as jose's key function. */
export interface LocalKeySet {
  (protectedHeader?: JWSHeaderParameters, token?: FlattenedJWSInput): Promise<CryptoKey>;
  /** The same with the withdrawn keys: for `id_token_hint` alone. */
  readonly forIdTokenHint: (protectedHeader?: JWSHeaderParameters, token?: FlattenedJWSInput) => Promise<CryptoKey>;
}

/**
 * Looks up the OP's own keys by the rules that hold for RPs: byte-equal on `kid`, in the set as it is now, and
 * never the active key for a `kid` that is not there.
 *
 * The key function rejects with `KeySetError`: `missing_kid`, `unknown_kid`, `unsupported_alg`, `no_suitable_key`; and
 * with what a source function throws.
 *
 * ```ts
 * import { createKeySet } from "@signpost/core";
 * import { openLocalSigner } from "@signpost/local";
 * import { createLocalKeySet, verifyOwnJwt } from "@signpost/verify";
 *
 * const keys = createKeySet([{ signer: await openLocalSigner() }]);
 * const keySet = createLocalKeySet(keys);
 *
 * export async function clientOf(accessToken: string) {
 *   const { claims } = await verifyOwnJwt(accessToken, {
 *     purpose: "access_token",
 *     keySet,
 *     issuer: "https://op.example",
 *     audience: "https://api.example",
 *   });
 *   return claims["client_id"];
 * }
 * ```
 */
export function createLocalKeySet(keys: KeySetSource, options: LocalKeySetOptions = {}): LocalKeySet {
  const imported = new WeakMap<PublishedKey, Promise<CryptoKey>>();

  async function keyFor(
    header: JWSHeaderParameters | undefined,
    find: (kid: string) => PublishedKey | undefined,
  ): Promise<CryptoKey> {
    const { alg, kid } = keyRequest(header, false);
    const published = find(kid ?? "");
    if (published === undefined || published.use !== "sig") {
      throw new KeySetError("unknown_kid", "no signing key with this kid in the key set");
    }
    if (published.alg !== alg) throw new KeySetError("no_suitable_key", "the key of this kid does not fit the alg");
    const key = imported.get(published) ?? importPublicJwk(published.publicKey, alg);
    imported.set(published, key);
    return key;
  }

  const live = (kid: string): PublishedKey | undefined => currentKeySet(keys).find(kid);
  const liveOrWithdrawn = (kid: string): PublishedKey | undefined =>
    live(kid) ?? options.withdrawn?.().find((key) => key.keyId === kid);

  return Object.assign((header?: JWSHeaderParameters) => keyFor(header, live), {
    forIdTokenHint: (header?: JWSHeaderParameters) => keyFor(header, liveOrWithdrawn),
  });
}
