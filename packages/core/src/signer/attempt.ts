import { asSignerError, SignerError } from "../errors.ts";
import { assertRawSignature } from "../encoding/ecdsa-signature.ts";
import type { AttemptController } from "./attempt-controller.ts";
import type { Signer } from "./contract.ts";
import { insideOf } from "./inside.ts";
import { copiedSignature } from "./places.ts";
import type { Endable } from "./race.ts";

export interface AttemptInput {
  readonly digest: Uint8Array;
  readonly signingInput: Uint8Array | undefined;
  readonly timeoutMs: number;
  /** The call. If it ends, the attempt ends. */
  readonly scope: Endable;
  /** The attempt's own controller. It aborts when the call ends, or after the timeout. */
  readonly controller: AttemptController;
  /** Called once when the backend has settled, no matter how late. The slot is taken until then. */
  readonly settled: () => void;
}

/**
 * One call of the backend. It has a timeout, its result is checked, and its error is always a `SignerError`. `signer` comes
 * from `createSigner` or `failoverSigner`, which copy arguments and results. So if a backend writes into them, no other
 * attempt is affected.
 */
export async function attempt(signer: Signer, input: AttemptInput): Promise<Uint8Array> {
  const { controller, timeoutMs } = input;
  const call = invoke(signer, input.digest, input.signingInput, controller);
  call.then(input.settled, input.settled);
  let timer: NodeJS.Timeout | undefined;
  try {
    const result = await new Promise<Uint8Array>((resolve, reject) => {
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
    assertSignature(result);
    return result;
  } catch (error) {
    throw asSignerError(error);
  } finally {
    clearTimeout(timer);
  }
}

/** Without a signal if the signer comes from `createSigner`. Our signers throw nothing synchronously. */
function invoke(
  signer: Signer,
  digest: Uint8Array,
  signingInput: Uint8Array | undefined,
  controller: AttemptController,
): Promise<Uint8Array> {
  const attemptOnce = insideOf(signer)?.attempt;
  if (attemptOnce !== undefined) return attemptOnce(digest, signingInput, controller);
  const { signal } = controller;
  return signer.sign(digest, signingInput === undefined ? { signal } : { signal, signingInput });
}

/** A copy of what a backend gave, if it has the form of a signature. */
export function checkedSignature(result: unknown): Uint8Array {
  // Checks a copy: the backend may reuse its buffer, a Buffer may be a view of a shared pool, and a subclass may report
  // any length.
  const signature = copiedSignature(result);
  assertSignature(signature);
  return signature;
}

function assertSignature(signature: unknown): asserts signature is Uint8Array {
  try {
    assertRawSignature(signature, "signature");
  } catch (cause) {
    throw new SignerError("bad_signature", "the backend's result is not 64 bytes r‖s with 1 ≤ r, s < n", { cause });
  }
}
