import { SignerError } from "../errors.ts";
import { abortedError } from "./endings.ts";

/**
 * What may end a call from outside: the caller's signal, the deadline, `close`. Its signal aborts with the
 * `SignerError` that the call then rejects with.
 */
export interface CallScope {
  readonly signal: AbortSignal;
  end(error: SignerError): void;
  /** Lets go of the timer and of the caller's signal. */
  dispose(): void;
}

export function openScope(deadlineMs: number, callerSignal: AbortSignal | undefined): CallScope {
  const controller = new AbortController();
  const end = (error: SignerError): void => controller.abort(error);
  const onAbort = (): void => end(abortedError(callerSignal?.reason));
  if (callerSignal?.aborted === true) onAbort();
  callerSignal?.addEventListener("abort", onAbort, { once: true });
  const timer = setTimeout(
    () => end(new SignerError("timeout", `no signature within the deadline of ${deadlineMs} ms`)),
    deadlineMs,
  );
  return {
    signal: controller.signal,
    end,
    dispose: () => {
      clearTimeout(timer);
      callerSignal?.removeEventListener("abort", onAbort);
    },
  };
}

/** Settles like `promise`, or rejects with the signal's reason as soon as it aborts: the late result is dropped. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    const settled = (): void => signal.removeEventListener("abort", onAbort);
    promise.then(
      (value) => {
        settled();
        resolve(value);
      },
      (error: unknown) => {
        settled();
        reject(error);
      },
    );
  });
}

/** Rejects with the signal's reason when it aborts first. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  try {
    await orAborted(
      new Promise<void>((resolve) => {
        timer = setTimeout(resolve, ms);
      }),
      signal,
    );
  } finally {
    clearTimeout(timer);
  }
}
