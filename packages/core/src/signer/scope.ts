import { SignerError } from "../errors.ts";
import { abortedError } from "./endings.ts";
import { onAbort } from "./on-abort.ts";

/**
 * Everything that may end a call from outside: the caller's signal, the deadline, `close`. The call rejects with the
 * `SignerError` of its end. This is not an AbortSignal, which takes a few microseconds to create. Each round has its own.
 * It is a class, because an object with a getter takes as long as a timer to create.
 */
export class CallScope {
  readonly #uri: string;
  readonly #deadlineMs: number;
  readonly #endsAt: number;
  readonly #letGoOfCaller: (() => void) | undefined;
  #ending: SignerError | undefined;
  #waiting: ((ending: SignerError) => void) | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** `uri`: of the signer, for the error at the deadline. */
  constructor(uri: string, deadlineMs: number, callerSignal: AbortSignal | undefined) {
    this.#uri = uri;
    this.#deadlineMs = deadlineMs;
    this.#endsAt = performance.now() + deadlineMs;
    if (callerSignal === undefined) return;
    this.#letGoOfCaller = onAbort(callerSignal, () => this.end(abortedError(callerSignal.reason)));
  }

  /** The error that ended the call. Undefined while it runs. */
  get ending(): SignerError | undefined {
    return this.#ending;
  }

  /** Milliseconds until the deadline. At least 1, since the deadline itself ends the call. */
  leftMs(): number {
    return Math.max(1, this.#endsAt - performance.now());
  }

  /**
   * From now on the deadline ends the call. For whatever may last longer: an attempt with a timeout before the deadline
   * needs no second timer.
   */
  watchDeadline(): void {
    this.#timer ??= setTimeout(() => {
      this.end(new SignerError("timeout", `${this.#uri}: no signature within the deadline of ${this.#deadlineMs} ms`));
    }, Math.ceil(this.leftMs()));
  }

  end(error: SignerError): void {
    if (this.#ending !== undefined) return;
    this.#ending = error;
    this.#waiting?.(error);
  }

  /**
   * Calls `callback` when the call ends, or now if it has ended. There is only one callback at a time, so a new one replaces
   * the old one.
   */
  onEnd(callback: (ending: SignerError) => void): void {
    if (this.#ending === undefined) this.#waiting = callback;
    else callback(this.#ending);
  }

  /** Removes the current callback. */
  letGo(): void {
    this.#waiting = undefined;
  }

  /** Stops the timer and removes the listener from the caller's signal. */
  dispose(): void {
    clearTimeout(this.#timer);
    this.#letGoOfCaller?.();
  }
}

/** Waits. If the call ends first, rejects with its error. */
export function pause(ms: number, scope: CallScope): Promise<void> {
  return new Promise((resolve, reject) => {
    scope.watchDeadline();
    const timer = setTimeout(() => {
      scope.letGo();
      resolve();
    }, ms);
    scope.onEnd((ending) => {
      clearTimeout(timer);
      reject(ending);
    });
  });
}
