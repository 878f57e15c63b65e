import { getMaxListeners, defaultMaxListeners, setMaxListeners } from "node:events";
import { KeySetError } from "../errors.ts";

/**
 * Waits for shared work on behalf of one caller. The signal releases that caller alone: the work goes on
 * for the others.
 */
export async function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  // The caller may leave before the work settles; somebody has to take the rejection then.
  work.catch(() => {});
  if (signal.aborted) throw aborted(signal);
  takeAnyNumberOfListeners(signal);
  let release: () => void = () => {};
  const abort = new Promise<never>((_resolve, reject) => {
    const onAbort = (): void => reject(aborted(signal));
    signal.addEventListener("abort", onAbort, { once: true });
    release = () => signal.removeEventListener("abort", onAbort);
  });
  try {
    return await Promise.race([work, abort]);
  } finally {
    release();
  }
}

/** One signal may stand for any number of callers. Their listeners are no leak: each is removed. */
function takeAnyNumberOfListeners(signal: AbortSignal): void {
  try {
    if (getMaxListeners(signal) === defaultMaxListeners) setMaxListeners(Number.POSITIVE_INFINITY, signal);
  } catch {
    // A limit of 0, which Node 20 cannot read, or a signal that is not Node's: neither warns.
  }
}

function aborted(signal: AbortSignal): KeySetError {
  return new KeySetError("aborted", "the caller's signal was aborted", { cause: signal.reason });
}
