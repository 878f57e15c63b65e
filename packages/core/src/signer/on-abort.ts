// `Symbol.for`, so that two copies of this package agree.
const CALLBACKS = Symbol.for("@signpost/core/abort-callbacks");

/** Calls back when a signal aborts, without a listener on it. */
export interface AbortCallbacks {
  onEnd(callback: () => void): () => void;
}

interface Own {
  readonly [CALLBACKS]?: AbortCallbacks;
}

/** From now on `onAbort` uses these callbacks for the signal. Not in a WeakMap, where each entry delays garbage collection. */
export function ownCallbacks(signal: AbortSignal, callbacks: AbortCallbacks): void {
  Object.defineProperty(signal, CALLBACKS, { value: callbacks });
}

interface Shared {
  readonly callbacks: Set<() => void>;
  readonly listener: () => void;
}

/**
 * Keyed by the caller's signal, so that it has only one of our listeners, no matter how many calls share it. Long-lived
 * signals are often shared. With more than ten listeners Node warns about a leak, and removing one of many is slow.
 */
const sharedBySignal = new WeakMap<AbortSignal, Shared>();

/**
 * Calls `callback` once: when the signal aborts, or now if it has already aborted. Returns a function that removes the
 * callback. Many calls may share a signal. It has one listener for all of them, and none after all are removed.
 * An error that a callback throws is uncaught, as in a listener, and the other callbacks still run.
 *
 * @example
 * ```ts
 * import { onAbort } from "@signpost/core/adapter";
 *
 * declare const signal: AbortSignal;
 * declare function cancel(): void;
 *
 * const letGo = onAbort(signal, cancel);
 * letGo();
 * ```
 */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal === undefined || signal.aborted) return onOwnAbort(signal, callback);
  const ours = (signal as Own)[CALLBACKS];
  if (ours !== undefined) return ours.onEnd(callback);
  const { callbacks, listener } = sharedBySignal.get(signal) ?? listen(signal);
  // A new function, since two calls may pass the same callback.
  const own = (): void => callback();
  callbacks.add(own);
  return () => {
    if (!callbacks.delete(own) || callbacks.size > 0) return;
    signal.removeEventListener("abort", listener);
    sharedBySignal.delete(signal);
  };
}

/**
 * Same as `onAbort`, for a signal that belongs to one call. Separate, because the map costs a few microseconds for each new
 * signal.
 */
export function onOwnAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal?.aborted === true) callback();
  else signal?.addEventListener("abort", callback, { once: true });
  return () => signal?.removeEventListener("abort", callback);
}

function listen(signal: AbortSignal): Shared {
  const callbacks = new Set<() => void>();
  const listener = (): void => {
    sharedBySignal.delete(signal);
    for (const callback of callbacks) callIsolated(callback);
    callbacks.clear();
  };
  const shared = { callbacks, listener };
  sharedBySignal.set(signal, shared);
  signal.addEventListener("abort", listener, { once: true });
  return shared;
}

/** As for a listener: an error ends the process, but not the call, and the other callbacks still run. */
export function callIsolated(callback: () => void): void {
  try {
    callback();
  } catch (error) {
    process.nextTick(() => {
      throw error;
    });
  }
}
