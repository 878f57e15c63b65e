import { type AbortCallbacks, callIsolated, onAbort, ownCallbacks } from "./on-abort.ts";

/** What may end an attempt. */
export interface Ending {
  /** Whether it has ended. */
  readonly aborted: boolean;
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

  get aborted(): boolean {
    return this.signal.aborted;
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
  /** The first and the last of a list. An array takes longer than everything else here. */
  #first: Callback | undefined;
  #last: Callback | undefined;
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
    // One by one, since a callback may remove another.
    for (let next = this.#first; next !== undefined; next = this.#first) {
      this.#remove(next);
      callIsolated(next.call);
    }
  }

  onEnd(callback: () => void): () => void {
    if (this.#aborted) {
      callback();
      return () => {};
    }
    // A new object, since two calls may pass the same callback.
    const own: Callback = { call: callback, previous: this.#last, next: undefined, isListed: true };
    if (this.#last === undefined) this.#first = own;
    else this.#last.next = own;
    this.#last = own;
    return () => this.#remove(own);
  }

  #remove(own: Callback): void {
    if (!own.isListed) return;
    own.isListed = false;
    const { previous, next } = own;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
  }
}

interface Callback {
  readonly call: () => void;
  previous: Callback | undefined;
  next: Callback | undefined;
  isListed: boolean;
}
