import { endedError, type CallBounds } from "@signpost/core/adapter";
import { signerErrorFrom, type CallTarget } from "./errors.ts";

/**
 * Makes one attempt of one call of KMS. It always rejects with a `SignerError`. `operation` is the call's name in
 * policies. The caller sets the time limit, by the signal.
 */
export async function callOnce<Answer>(
  operation: string,
  target: CallTarget,
  { signal }: CallBounds,
  call: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await call();
  } catch (error) {
    // A client reports an abort in many ways, for example as a cut connection after the head of the answer has arrived.
    if (signal.aborted) throw endedError(signal.reason);
    throw signerErrorFrom(error, operation, target);
  }
}
