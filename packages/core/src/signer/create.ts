import type { P256PublicJwk } from "../encoding/p256-public-jwk.ts";
import type { Signer, SignOptions } from "./contract.ts";
import { copiedDigest } from "./digest.ts";
import { closedError, endedError } from "./endings.ts";

/** What an adapter brings: the key it opened, and one attempt at one signature. */
export interface SignerBackend {
  readonly uri: string;
  readonly publicKey: P256PublicJwk;
  /**
   * One attempt. `digest` has 32 bytes and is this call's own copy. Settles within a second of the signal,
   * and rejects with `SignerError`.
   */
  signDigest(digest: Uint8Array, options: SignOptions): Promise<Uint8Array>;
  /** Called once, after the last attempt has settled. */
  close(): Promise<void>;
}

/**
 * The part of the `Signer` contract that is the same for every adapter: the digest is checked and copied, a
 * signal that is aborted already and a closed signer reject at once, `close()` is idempotent and waits for
 * the calls in flight.
 *
 * ```ts
 * import { createSigner, type P256PublicJwk } from "@signpost/core";
 *
 * declare const publicKey: P256PublicJwk;
 * declare function callBackend(digest: Uint8Array, signal?: AbortSignal): Promise<Uint8Array>;
 *
 * const signer = createSigner({
 *   uri: "example:key-1",
 *   publicKey,
 *   signDigest: (digest, { signal }) => callBackend(digest, signal),
 *   close: async () => {},
 * });
 * ```
 */
export function createSigner(backend: SignerBackend): Signer {
  const inFlight = new Set<Promise<Uint8Array>>();
  let closing: Promise<void> | undefined;

  const sign = async (digest: Uint8Array, options: SignOptions = {}): Promise<Uint8Array> => {
    if (closing !== undefined) throw closedError();
    if (options.signal?.aborted === true) throw endedError(options.signal.reason);
    const call = backend.signDigest(copiedDigest(digest), options);
    inFlight.add(call);
    try {
      return await call;
    } finally {
      inFlight.delete(call);
    }
  };
  const closeOnce = async (): Promise<void> => {
    await Promise.allSettled(inFlight);
    await backend.close();
  };

  return Object.freeze({
    uri: backend.uri,
    publicKey: Object.freeze({ ...backend.publicKey }),
    sign,
    close: () => (closing ??= closeOnce()),
  });
}
