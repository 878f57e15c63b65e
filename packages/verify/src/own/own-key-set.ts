import type { OwnKeys, PublishedKey } from "@signpost/core";
import { ConfigurationError, currentKeySet } from "@signpost/core";
import { assertOptions, given, readCallback, readOwnKeys } from "@signpost/core/adapter";
import type { OptionNames } from "@signpost/core/adapter";
import { KeySetError } from "../errors.ts";
import { isSameAlgorithm } from "../jwk/algorithms.ts";
import { verifierKey } from "../jwk/import-public-jwk.ts";
import type { VerifierKey } from "../jwk/import-public-jwk.ts";
import type { KeyFunction } from "../jwk/key-function.ts";
import { keyFunctionOf } from "../jwk/key-function.ts";
import type { SelectingHeader } from "../jwk/select.ts";
import { keyRequest } from "../jwk/select.ts";

/** Options of `createOwnKeySet`. */
export interface OwnKeySetOptions {
  /**
   * Returns keys that left the set and are accepted only for an `id_token_hint`. It is called for each hint with a `kid` that is not in
   * the set. Default: the withdrawn keys of the schedule, or none without a schedule.
   */
  readonly withdrawn?: (() => readonly PublishedKey[]) | undefined;
}

const OWN_KEY_SET_OPTIONS: OptionNames<OwnKeySetOptions> = { withdrawn: true };

/** Finds the OP's own keys, so the OP can verify its tokens. A key function for jose and for `verifyOwnJwt`. */
export interface OwnKeyFunction extends KeyFunction {
  /** The same with the withdrawn keys. Only for an `id_token_hint`. */
  readonly forIdTokenHint: KeyFunction;
}

/**
 * A key function for the OP's own keys. The rules are the same as for RPs: the `kid` must match a key of the current set byte for
 * byte, and it never falls back to the active key. Pass the same `keys` that you sign with: a list of entries, a set, a function or
 * a rotation schedule. A schedule includes its withdrawn keys.
 *
 * The key function rejects with `KeySetError`: `missing_kid`, `unknown_kid`, `unsupported_alg`, `no_suitable_key`; and with the
 * error of a function that you passed as `keys`, and with `ConfigurationError` if `withdrawn` does not return a list.
 *
 * @throws ConfigurationError for invalid `keys`, and for anything that `createKeySet` refuses in a list of entries.
 * @example
 * ```ts
 * import { openLocalSigner } from "@signpost/local";
 * import { createOwnKeySet, verifyOwnJwt } from "@signpost/verify";
 *
 * const keyFunction = createOwnKeySet([{ signer: await openLocalSigner() }]);
 *
 * export async function clientOf(accessToken: string) {
 *   const { claims } = await verifyOwnJwt(accessToken, {
 *     purpose: "access_token",
 *     keyFunction,
 *     issuer: "https://op.example",
 *     audience: "https://api.example",
 *   });
 *   return claims["client_id"];
 * }
 * ```
 */
export function createOwnKeySet(keys: OwnKeys, options: OwnKeySetOptions = {}): OwnKeyFunction {
  assertOptions("options", options, OWN_KEY_SET_OPTIONS);
  const own = readOwnKeys(keys);
  const withdrawn = readCallback("withdrawn", options.withdrawn) ?? own.withdrawn;
  const imported = new WeakMap<PublishedKey, VerifierKey>();

  async function keyFor(
    header: SelectingHeader | undefined,
    find: (kid: string) => PublishedKey | undefined,
  ): Promise<VerifierKey> {
    const { alg, kid } = keyRequest(header, false);
    const published = find(kid ?? "");
    if (published === undefined || published.use !== "sig") {
      throw new KeySetError("unknown_kid", "no signing key in the key set has this kid");
    }
    if (!isSameAlgorithm(published.alg, alg))
      throw new KeySetError("no_suitable_key", "the key of this kid does not fit the alg");
    const known = imported.get(published) ?? verifierKey(published.publicKey);
    imported.set(published, known);
    return known;
  }

  const live = (kid: string): PublishedKey | undefined => currentKeySet(own.source).find(kid);
  const liveOrWithdrawn = (kid: string): PublishedKey | undefined =>
    live(kid) ?? readWithdrawn(withdrawn()).find((key) => key.keyId === kid);

  return Object.assign(
    keyFunctionOf((header) => keyFor(header, live)),
    { forIdTokenHint: keyFunctionOf((header) => keyFor(header, liveOrWithdrawn)) },
  );
}

/** An async function would only be noticed at the first hint, and its rejection would end the process. */
function readWithdrawn(keys: unknown): readonly PublishedKey[] {
  if (Array.isArray(keys)) return keys as readonly PublishedKey[];
  Promise.resolve(keys).catch(() => undefined);
  throw new ConfigurationError("withdrawn", `must return a list of keys synchronously, got ${given(keys)}`);
}
