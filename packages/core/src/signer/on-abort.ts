/**
 * Calls `callback` once: when the signal aborts, or now when it has. Gives a function that takes it back.
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
  if (signal?.aborted === true) callback();
  else signal?.addEventListener("abort", callback, { once: true });
  return () => signal?.removeEventListener("abort", callback);
}

interface Shared {
  readonly callbacks: Set<() => void>;
  readonly listener: () => void;
}

/**
 * Keyed by the caller's own signal: it carries one listener of ours, however many calls share it. A signal that
 * outlives its calls often is shared, and Node warns of a leak above ten listeners.
 */
const sharedBySignal = new WeakMap<AbortSignal, Shared>();

/**
 * As `onAbort`, for a signal that may be shared by many calls. Apart, because the map costs some microseconds for
 * each new signal, and most signals here are one call's own.
 */
export function onSharedAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal === undefined || signal.aborted) return onAbort(signal, callback);
  const { callbacks, listener } = sharedBySignal.get(signal) ?? listen(signal);
  // A function of its own, so that two calls may bring the same callback.
  const own = (): void => callback();
  callbacks.add(own);
  return () => {
    if (!callbacks.delete(own) || callbacks.size > 0) return;
    signal.removeEventListener("abort", listener);
    sharedBySignal.delete(signal);
  };
}

function listen(signal: AbortSignal): Shared {
  const callbacks = new Set<() => void>();
  const listener = (): void => {
    sharedBySignal.delete(signal);
    for (const callback of callbacks) callback();
    callbacks.clear();
  };
  const shared = { callbacks, listener };
  sharedBySignal.set(signal, shared);
  signal.addEventListener("abort", listener, { once: true });
  return shared;
}
