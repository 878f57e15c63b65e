import { SignerError } from "../errors.ts";
import { abortedError } from "./endings.ts";
import { onAbort } from "./on-abort.ts";

/**
 * What may end a call from outside: the caller's signal, the deadline, `close`. It ends with the `SignerError` that
 * the call then rejects with. No AbortSignal, which takes some microseconds to make: each round has one of its own.
 */
export interface CallScope {
  /** What ended the call, once something has. */
  readonly ending: SignerError | undefined;
  end(error: SignerError): void;
  /**
   * Calls back when the call ends, or now when it has. One at a time: the next takes the place of the one before.
   * Gives a function that takes back whichever is there.
   */
  onEnd(callback: (ending: SignerError) => void): () => void;
  /** Lets go of the timer and of the caller's signal. */
  dispose(): void;
}

export function openScope(deadlineMs: number, callerSignal: AbortSignal | undefined): CallScope {
  let ending: SignerError | undefined;
  let waiting: ((ending: SignerError) => void) | undefined;
  const end = (error: SignerError): void => {
    if (ending !== undefined) return;
    ending = error;
    waiting?.(error);
  };
  const letGo = onAbort(callerSignal, () => end(abortedError(callerSignal?.reason)));
  const timer = setTimeout(
    () => end(new SignerError("timeout", `no signature within the deadline of ${deadlineMs} ms`)),
    deadlineMs,
  );
  return {
    get ending() {
      return ending;
    },
    end,
    onEnd: (callback) => {
      if (ending === undefined) waiting = callback;
      else callback(ending);
      return () => {
        waiting = undefined;
      };
    },
    dispose: () => {
      clearTimeout(timer);
      letGo();
    },
  };
}

/** Rejects with what ends the call when that comes first. */
export function pause(ms: number, scope: CallScope): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      letGo();
      resolve();
    }, ms);
    const letGo = scope.onEnd((ending) => {
      clearTimeout(timer);
      reject(ending);
    });
  });
}
