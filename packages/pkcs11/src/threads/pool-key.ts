import { type P256PublicJwk, SignerError } from "@signpost/core";
import type { FoundKey, KeyQuery } from "../protocol.ts";
import { publicKeyOf, sameKey } from "../public-key.ts";

/** A key that signers of the pool use, by its number in the pool. */
export interface PoolKey {
  readonly query: KeyQuery;
  /** Known once the key was opened. From then on it never changes. */
  publicKey: P256PublicJwk | undefined;
  /** A search found nothing; the module was, or was not yet, initialised anew since. */
  missing: "no" | "suspected" | "confirmed";
  /** Why it cannot be used, and until when (performance.now) that is taken for granted. */
  refusal: { readonly error: unknown; readonly until: number } | undefined;
}

/**
 * Checks a key that was found anew against the one that was opened. `unproven`: no object tells the public
 * half, so only a signature can.
 *
 * @throws SignerError `wrong_key`
 */
export function compareFound(key: PoolKey, found: FoundKey): "same" | "unproven" {
  const { publicKey } = key;
  const now = publicKeyOf(found);
  if (publicKey === undefined) return "same";
  if (now === undefined) return "unproven";
  if (!sameKey(now, publicKey)) {
    throw new SignerError(
      "wrong_key",
      `the token holds another key under the label ${JSON.stringify(found.label)} now`,
    );
  }
  return "same";
}
