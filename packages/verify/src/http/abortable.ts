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

function aborted(signal: AbortSignal): KeySetError {
  return new KeySetError("aborted", "the caller's signal was aborted", { cause: signal.reason });
}
