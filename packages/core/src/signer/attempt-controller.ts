import { onAbort } from "./on-abort.ts";

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
 * call. So it is only made for a backend that reads it, and our own code has one plain callback instead of a listener.
 */
export class AttemptController implements Ending {
  #controller: AbortController | undefined;
  #callback: (() => void) | undefined;
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
    this.#callback?.();
  }

  /** There is only one callback at a time, so a new one replaces the old one. */
  onEnd(callback: () => void): () => void {
    if (this.#aborted) callback();
    else this.#callback = callback;
    return () => {
      this.#callback = undefined;
    };
  }
}
