import { isThenable, swallowRejection } from "../thenable.ts";
import type { AttemptController } from "./attempt-controller.ts";
import type { Limiter } from "./contract.ts";
import type { CallScope } from "./scope.ts";

/** Waits for the slot or the end of the call, since a custom limiter may ignore its signal and never grant one. */
export function granted(
  slot: Promise<() => void>,
  scope: CallScope,
  controller: AttemptController,
): Promise<() => void> {
  return new Promise((resolve, reject) => {
    scope.onEnd((ending) => {
      controller.abort(ending);
      reject(ending);
    });
    Promise.resolve(slot).then((release) => {
      if (typeof release !== "function") reject(new TypeError("expected a function that releases the slot"));
      else if (scope.ending === undefined) resolve(release);
      else giveBack(release);
    }, reject);
  });
}

/** A slot for a call that does not want to wait. Undefined if none is free, or the limiter fails. */
export async function freeSlot(limiter: Limiter, signal: AbortSignal): Promise<(() => void) | undefined> {
  try {
    // A custom limiter may return anything.
    const release: unknown = await limiter.acquire(signal, 0);
    return typeof release === "function" ? () => release() : undefined;
  } catch {
    return undefined;
  }
}

/** Whether calls wait for a slot. If a custom limiter cannot tell, they might. */
export function callsWait(limiter: Limiter): boolean {
  try {
    return limiter.queued > 0;
  } catch {
    return true;
  }
}

export function giveBack(release: () => void): void {
  try {
    const given: unknown = release();
    if (isThenable(given)) swallowRejection(given);
  } catch {
    // A custom limiter that fails here has lost the slot. The call still returns its signature.
  }
}
