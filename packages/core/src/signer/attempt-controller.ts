import { type AbortCallbacks, onAbort, ownCallbacks } from "./on-abort.ts";

/** What may end an attempt. */
export interface Ending {
  /** Why it ended. Undefined while it runs. */
  readonly reason: unknown;
  /** For the backend. Made when it is read. */
  readonly signal: AbortSignal;
  /** Calls `callback` at the end, or now if it has ended. Returns a function that removes the callback. */
  onEnd(callback: () => void): () => void;
}

/** The caller's signal ends the attempt. */
export class CallerEnding implements Ending {
  readonly signal: AbortSignal;

  constructor(signal: AbortSignal) {
    this.signal = signal;
  }

  get reason(): unknown {
    return this.signal.reason;
  }

  onEnd(callback: () => void): () => void {
    return onAbort(this.signal, callback);
  }
}

/**
 * Ends one attempt, like an AbortController. An AbortSignal with a listener takes longer than everything else in a guarded
 * call. So it is only made for a backend that reads it, and `onAbort` calls back without a listener.
 */
export class AttemptController implements Ending, AbortCallbacks {
  #controller: AbortController | undefined;
  #callbacks: (() => void)[] = [];
  #aborted = false;
  #reason: unknown;

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort(this.#reason);
      else ownCallbacks(this.#controller.signal, this);
    }
    return this.#controller.signal;
  }

  /** The signal, if it was made. */
  get madeSignal(): AbortSignal | undefined {
    return this.#controller?.signal;
  }

  /** Only the first reason counts. */
  abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
    const callbacks = this.#callbacks;
    this.#callbacks = [];
    for (const callback of callbacks) callIsolated(callback);
  }

  onEnd(callback: () => void): () => void {
    if (this.#aborted) {
      callback();
      return () => {};
    }
    this.#callbacks.push(callback);
    return () => {
      const index = this.#callbacks.indexOf(callback);
      if (index !== -1) this.#callbacks.splice(index, 1);
    };
  }
}

/** As for a listener: an error ends the process, but not the call, and the other callbacks still run. */
function callIsolated(callback: () => void): void {
  try {
    callback();
  } catch (error) {
    process.nextTick(() => {
      throw error;
    });
  }
}
