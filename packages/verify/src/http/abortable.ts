import { SignerError } from "@signpost/core";
import { untilAborted } from "@signpost/core/adapter";
import { KeySetError } from "../errors.ts";

/**
 * Waits for shared work on behalf of one caller. The signal releases only that caller, and the work continues for the
 * others.
 */
export async function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  try {
    return await untilAborted(work, signal);
  } catch (error) {
    // The work itself may fail with a SignerError too, if it is a caller's function.
    if (signal?.aborted !== true || !(error instanceof SignerError)) throw error;
    throw new KeySetError("aborted", "the caller's signal was aborted", { cause: signal.reason });
  }
}
