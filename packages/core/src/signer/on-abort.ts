interface Shared {
  readonly callbacks: Set<() => void>;
  readonly listener: () => void;
}

/**
 * Keyed by the caller's own signal: it carries one listener of ours, however many calls share it. A signal that
 * outlives its calls often is shared: Node warns of a leak above ten listeners, and takes longer to remove each of many.
 */
const sharedBySignal = new WeakMap<AbortSignal, Shared>();

/**
 * Calls `callback` once: when the signal aborts, or now when it has. Gives a function that takes it back. Many calls may share a
 * signal: it carries one listener for all of them, and none when they have taken theirs back.
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

/**
 * As `onAbort`, for a signal that one call made for itself. Apart, because the map costs some microseconds for each new signal.
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
    for (const callback of callbacks) callback();
    callbacks.clear();
  };
  const shared = { callbacks, listener };
  sharedBySignal.set(signal, shared);
  signal.addEventListener("abort", listener, { once: true });
  return shared;
}
