import { endedError, type CallBounds } from "@signpost/core/adapter";
import { signerErrorFrom, type CallTarget } from "./errors.ts";

/**
 * One attempt of one call of KMS, its error always a `SignerError`. `operation` is the call's name in policies, `target`
 * what it is asked of. The call is bounded from outside, and ends by its signal.
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
    // A client reports an abort in many ways: as a cut connection when the head of the answer has come.
    if (signal.aborted) throw endedError(signal.reason);
    throw signerErrorFrom(error, operation, target);
  }
}
