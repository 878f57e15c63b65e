import type { P256PublicJwk } from "../encoding/ec-point.ts";
import { checkedOptions, copiedDigest } from "./arguments.ts";
import type { Signer, SignOptions } from "./contract.ts";
import { closedError, endedError } from "./endings.ts";
import { onAbort } from "./on-abort.ts";

/** How long a backend may take to settle after its signal. Milliseconds. */
const SETTLE_MS = 1000;

/** What an adapter brings: the key it opened, and one attempt at one signature. */
export interface SignerBackend {
  /** Canonical key URI, never a secret. */
  readonly uri: string;
  /** The key that is open. */
  readonly publicKey: P256PublicJwk;
  /**
   * One attempt. `digest` has 32 bytes and is this call's own copy. Settles soon after its signal, and rejects
   * with `SignerError`. One that has not settled a second after its signal is left behind: its call ends, and
   * what it gives later is dropped.
   */
  signDigest(digest: Uint8Array, options: SignOptions): Promise<Uint8Array>;
  /** Called once, after the last attempt has settled or was left behind. */
  close(): Promise<void>;
}

/**
 * The part of the `Signer` contract that is the same for every adapter: the digest is checked and copied, a
 * signal that is aborted already and a closed signer reject at once, no call outlives its signal by more than
 * a second whatever the backend does, `close()` is idempotent and waits for the calls in flight.
 *
 * @example
 * ```ts
 * import type { P256PublicJwk } from "@signpost/core";
 * import { createSigner } from "@signpost/core/adapter";
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
    const { signal } = checkedOptions(options);
    if (signal?.aborted === true) throw endedError(signal.reason);
    const call = endsWithSignal(Promise.resolve(backend.signDigest(copiedDigest(digest), options)), signal);
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

/**
 * Settles like `call`, or rejects when it has not settled `SETTLE_MS` after the signal: a backend that hangs must
 * not hold its slot, nor `close()`, for ever.
 */
function endsWithSignal(call: Promise<Uint8Array>, signal: AbortSignal | undefined): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const letGo = onAbort(signal, () => {
      timer = setTimeout(() => reject(endedError(signal?.reason)), SETTLE_MS);
    });
    const settled = (): void => {
      letGo();
      clearTimeout(timer);
    };
    call.then(
      (signature) => {
        settled();
        resolve(signature);
      },
      (error: unknown) => {
        settled();
        reject(error);
      },
    );
  });
}
