import { SignerError } from "@signpost/core";
import { endedError } from "@signpost/core/adapter";

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

/** What is being opened, or the signal's error, or `timeout` once the deadline is over. */
export async function withinDeadline<Value>(
  opening: Promise<Value>,
  deadlineMs: number = OPEN_DEADLINE_MS,
  caller?: AbortSignal,
): Promise<Value> {
  const controller = new AbortController();
  const timer = setTimeout(
    () => controller.abort(new SignerError("timeout", `not opened within the deadline of ${deadlineMs} ms`)),
    deadlineMs,
  );
  const signals = caller === undefined ? [controller.signal] : [controller.signal, caller];
  try {
    return await untilAborted(opening, AbortSignal.any(signals));
  } finally {
    clearTimeout(timer);
  }
}

/** Login and search go over the network in many modules. Milliseconds. */
const OPEN_DEADLINE_MS = 10_000;
