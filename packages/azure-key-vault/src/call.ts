import { endedError, type CallBounds } from "@signpost/core/adapter";
import { signerErrorFrom } from "./errors.ts";

/**
 * Makes one attempt of one call. It always rejects with a `SignerError`. `name` describes the call. The caller sets the time
 * limit, by the signal.
 */
export async function callOnce(name: string, { signal }: CallBounds, call: () => Promise<unknown>): Promise<unknown> {
  try {
    return await call();
  } catch (error) {
    if (signal.aborted) throw endedError(signal.reason);
    throw signerErrorFrom(error, name);
  }
}
