import { asSignerError, SignerError } from "../errors.ts";
import { assertRawSignature } from "../encoding/ecdsa-signature.ts";
import type { Signer } from "./contract.ts";
import { copiedSignature } from "./places.ts";
import type { CallScope } from "./scope.ts";

export interface AttemptInput {
  readonly digest: Uint8Array;
  readonly signingInput: Uint8Array | undefined;
  readonly timeoutMs: number;
  /** The call. If it ends, the attempt ends. */
  readonly scope: CallScope;
  /** The attempt's own controller. It aborts when the call ends, or after the timeout. */
  readonly controller: AbortController;
  /** Called once when the backend has settled, no matter how late. The slot is taken until then. */
  readonly settled: () => void;
}

/**
 * One call of the backend. It has a timeout, its result is checked and copied, and its error is always a `SignerError`.
 * `signer` comes from `createSigner`, which copies its arguments. So if a backend writes into them, no other attempt is
 * affected.
 */
export async function attempt(signer: Signer, input: AttemptInput): Promise<Uint8Array> {
  const { controller, timeoutMs } = input;
  const call = invoke(signer, input.digest, input.signingInput, controller.signal);
  call.then(input.settled, input.settled);
  let timer: NodeJS.Timeout | undefined;
  try {
    const result = await new Promise<Uint8Array>((resolve, reject) => {
      // No listener on our own signal: that would cost more than everything else here.
      const end = (reason: SignerError): void => {
        controller.abort(reason);
        reject(reason);
      };
      timer = setTimeout(
        () => end(new SignerError("timeout", `${signer.uri}: no answer within ${timeoutMs} ms`)),
        timeoutMs,
      );
      input.scope.onEnd(end);
      call.then(resolve, reject);
    });
    return checkedSignature(result);
  } catch (error) {
    throw asSignerError(error);
  } finally {
    clearTimeout(timer);
  }
}

// Async, so that an error that a signer throws synchronously also becomes a rejection.
async function invoke(
  signer: Signer,
  digest: Uint8Array,
  signingInput: Uint8Array | undefined,
  signal: AbortSignal,
): Promise<Uint8Array> {
  return await signer.sign(digest, signingInput === undefined ? { signal } : { signal, signingInput });
}

/** A copy of what a backend gave, if it has the form of a signature. */
export function checkedSignature(result: unknown): Uint8Array {
  // Checks a copy: the backend may reuse its buffer, a Buffer may be a view of a shared pool, and a subclass may report
  // any length.
  const signature = copiedSignature(result);
  try {
    assertRawSignature(signature, "signature");
  } catch (cause) {
    throw new SignerError("bad_signature", "the backend's result is not 64 bytes r‖s with 1 ≤ r, s < n", { cause });
  }
  return signature;
}
