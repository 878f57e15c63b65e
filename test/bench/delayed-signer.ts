import { setImmediate as macrotask, setTimeout as pause } from "node:timers/promises";
import type { Signer } from "@signpost/core";

/** Node's timers have a resolution of a millisecond and may be late by one more. Milliseconds. */
const TIMER_COARSENESS_MS = 2.5;

export interface Delay {
  /** Milliseconds. May be changed between calls. */
  ms: number;
}

/**
 * A signer whose calls each take the same time, exact to some microseconds. A timer alone would round the measured time up
 * to its next tick, so it sleeps first and waits busily for the last 2.5 milliseconds.
 */
export function delayedSigner(inner: Signer, delay: Delay): Signer {
  return {
    uri: inner.uri,
    publicKey: inner.publicKey,
    sign: async (...call) => {
      const delayMs = delay.ms;
      const until = performance.now() + delayMs;
      const signature = await inner.sign(...call);
      if (delayMs > TIMER_COARSENESS_MS) await pause(delayMs - TIMER_COARSENESS_MS);
      while (performance.now() < until) await macrotask();
      return signature;
    },
    close: () => inner.close(),
  };
}
