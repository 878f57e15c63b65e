import { endedError } from "./endings.ts";
import { onAbort } from "./on-abort.ts";

/**
 * Settles like `work`, or rejects with `endedError` as soon as the signal aborts. A later result of the work is dropped.
 * Many calls may share one signal. It has one listener for all of them.
 *
 * @example
 * ```ts
 * import { untilAborted } from "@signpost/core/adapter";
 *
 * declare const answer: Promise<Uint8Array>;
 *
 * const signature = await untilAborted(answer, AbortSignal.timeout(2000));
 * ```
 */
export function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  if (signal === undefined) return work;
  return new Promise<Value>((resolve, reject) => {
    const letGo = onAbort(signal, () => reject(endedError(signal.reason)));
    void work.then(resolve, reject).finally(letGo);
  });
}
