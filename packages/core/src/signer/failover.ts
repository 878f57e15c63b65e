import { ConfigurationError, SignerError } from "../errors.ts";
import type { Signer, SignOptions } from "./contract.ts";
import { requireBare } from "./mark.ts";
import { onAbort } from "./on-abort.ts";

const RETRY_FIRST_AFTER_MS = 30_000;

/**
 * One key held in several places (a Multi-Region key, a pair of HSMs) as one bare signer: guard it outside,
 * so that the guard's attempts move along. Each `sign` uses one signer. A transient failure or a timed-out
 * attempt moves the next attempt to the next signer; once 30 s have passed, one call tries the first again,
 * and its success brings the others back.
 *
 * `close()` closes all of them.
 *
 * @throws ConfigurationError for an empty list, a guarded signer, or public keys that differ.
 * @example
 * ```ts
 * import { failoverSigner, guardSigner, type Signer } from "@signpost/core";
 *
 * declare const frankfurt: Signer;
 * declare const dublin: Signer;
 * const signer = guardSigner(failoverSigner([frankfurt, dublin]));
 * ```
 */
export function failoverSigner(signers: readonly Signer[]): Signer {
  const [first, ...others] = signers;
  if (first === undefined) throw new ConfigurationError("signers", "expected at least one signer");
  const all = [first, ...others];
  for (const [index, signer] of all.entries()) {
    requireBare(`signers[${index}]`, signer);
    if (signer.publicKey.x !== first.publicKey.x || signer.publicKey.y !== first.publicKey.y) {
      throw new ConfigurationError(`signers[${index}]`, "expected the same public key as signers[0]");
    }
  }

  let current = 0;
  let leftFirstAt = 0;

  /** True for one call in 30 s that tries the first signer again: the others stay where signatures are made. */
  const probesFirst = (): boolean => {
    if (current === 0 || performance.now() - leftFirstAt < RETRY_FIRST_AFTER_MS) return false;
    leftFirstAt = performance.now();
    return true;
  };
  const leave = (index: number): void => {
    if (index === 0) leftFirstAt = performance.now();
    if (index === current) current = (index + 1) % all.length;
  };

  return Object.freeze({
    uri: `failover:${all.map((signer) => signer.uri).join(",")}`,
    publicKey: first.publicKey,
    sign: async (digest: Uint8Array, options: SignOptions = {}): Promise<Uint8Array> => {
      const probe = probesFirst();
      const index = probe ? 0 : current;
      const signer = all[index] ?? first;
      // A timed-out attempt shows in its signal at once; its backend may not settle before the next attempt begins.
      const letGo = onAbort(options.signal, () => {
        if (isTransient(options.signal?.reason)) leave(index);
      });
      try {
        const signature = await signer.sign(digest, options);
        // Not a call that began before the first was left, and none that was given up: still too slow.
        if (probe && options.signal?.aborted !== true) current = 0;
        return signature;
      } catch (error) {
        if (options.signal?.aborted === true) throw error;
        if (isTransient(error)) leave(index);
        // A place that refuses for good (its replica disabled) must not cost the caller that tried it its signature.
        else if (probe) throw new SignerError("unavailable", "the first signer still fails", { cause: error });
        throw error;
      } finally {
        letGo();
      }
    },
    close: async (): Promise<void> => {
      const results = await Promise.allSettled(all.map(async (signer) => signer.close()));
      const failed = results.find((result) => result.status === "rejected");
      if (failed !== undefined) throw failed.reason;
    },
  });
}

function isTransient(error: unknown): boolean {
  return error instanceof SignerError && error.transient;
}
