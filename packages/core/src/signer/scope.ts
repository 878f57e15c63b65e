import { SignerError } from "../errors.ts";
import { abortedError } from "./endings.ts";
import { onAbort } from "./on-abort.ts";

/**
 * Everything that may end a call from outside: the caller's signal, the deadline, `close`. The call rejects with the
 * `SignerError` of its end. This is not an AbortSignal, which takes a few microseconds to create. Each round has its own.
 */
export interface CallScope {
  /** The error that ended the call. Undefined while it runs. */
  readonly ending: SignerError | undefined;
  /** Milliseconds until the deadline. At least 1, since the deadline itself ends the call. */
  leftMs(): number;
  end(error: SignerError): void;
  /**
   * Calls `callback` when the call ends, or now if it has ended. There is only one callback at a time, so a new one replaces
   * the old one. Returns a function that removes the current callback.
   */
  onEnd(callback: (ending: SignerError) => void): () => void;
  /** Stops the timer and removes the listener from the caller's signal. */
  dispose(): void;
}

/** `uri`: of the signer, for the error at the deadline. */
export function openScope(uri: string, deadlineMs: number, callerSignal: AbortSignal | undefined): CallScope {
  let ending: SignerError | undefined;
  const endsAt = performance.now() + deadlineMs;
  let waiting: ((ending: SignerError) => void) | undefined;
  const end = (error: SignerError): void => {
    if (ending !== undefined) return;
    ending = error;
    waiting?.(error);
  };
  const letGo = onAbort(callerSignal, () => end(abortedError(callerSignal?.reason)));
  const timer = setTimeout(
    () => end(new SignerError("timeout", `${uri}: no signature within the deadline of ${deadlineMs} ms`)),
    deadlineMs,
  );
  return {
    get ending() {
      return ending;
    },
    leftMs: () => Math.max(1, endsAt - performance.now()),
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

/** Waits. If the call ends first, rejects with its error. */
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
