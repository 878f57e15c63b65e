import { SignerError } from "../errors.ts";
import { abortedError } from "./endings.ts";
import { onAbort, onSharedAbort } from "./on-abort.ts";

/**
 * What may end a call from outside: the caller's signal, the deadline, `close`. Its signal aborts with the
 * `SignerError` that the call then rejects with.
 */
export interface CallScope {
  readonly signal: AbortSignal;
  /** What ended the call, once something has. */
  readonly ending: SignerError | undefined;
  end(error: SignerError): void;
  /** Lets go of the timer and of the caller's signal. */
  dispose(): void;
}

export function openScope(deadlineMs: number, callerSignal: AbortSignal | undefined): CallScope {
  const controller = new AbortController();
  let ending: SignerError | undefined;
  const end = (error: SignerError): void => {
    ending ??= error;
    controller.abort(error);
  };
  const letGo = onSharedAbort(callerSignal, () => end(abortedError(callerSignal?.reason)));
  const timer = setTimeout(
    () => end(new SignerError("timeout", `no signature within the deadline of ${deadlineMs} ms`)),
    deadlineMs,
  );
  return {
    signal: controller.signal,
    get ending() {
      return ending;
    },
    end,
    dispose: () => {
      clearTimeout(timer);
      letGo();
    },
  };
}

/** Settles like `promise`, or rejects with the signal's reason as soon as it aborts: the late result is dropped. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const letGo = onAbort(signal, () => reject(signal.reason));
    promise.then(
      (value) => {
        letGo();
        resolve(value);
      },
      (error: unknown) => {
        letGo();
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
