import { endedError } from "@signpost/core";

/** The result, or the signal's error as soon as it aborts. What the promise still brings is dropped. */
export async function untilAborted<Value>(result: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  if (signal === undefined) return result;
  result.catch(() => {});
  let onAbort: () => void = () => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(endedError(signal.reason));
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
  try {
    return await Promise.race([result, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
