import { type AbortCallbacks, callIsolated, onAbort, ownCallbacks } from "./on-abort.ts";

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
  /** Most attempts have one callback, and an array takes longer than everything else here. */
  #callback: Callback | undefined;
  #others: Callback[] | undefined;
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
    for (let next = this.#next(); next !== undefined; next = this.#next()) callIsolated(next.call);
  }

  onEnd(callback: () => void): () => void {
    if (this.#aborted) {
      callback();
      return () => {};
    }
    // A new object, since two calls may pass the same callback.
    const own: Callback = { call: callback };
    if (this.#callback === undefined && this.#others === undefined) this.#callback = own;
    else (this.#others ??= []).push(own);
    return () => this.#remove(own);
  }

  #next(): Callback | undefined {
    const first = this.#callback ?? this.#others?.shift();
    this.#callback = undefined;
    return first;
  }

  #remove(own: Callback): void {
    if (this.#callback === own) this.#callback = undefined;
    const index = this.#others?.indexOf(own) ?? -1;
    if (index !== -1) this.#others?.splice(index, 1);
  }
}

interface Callback {
  readonly call: () => void;
}
