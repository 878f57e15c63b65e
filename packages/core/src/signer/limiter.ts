import { SignerError } from "../errors.ts";
import { assertOptions, type OptionNames } from "../options/assert-options.ts";
import { readWholeNumber } from "../options/read-values.ts";
import { ArrivalQueue } from "./arrival-queue.ts";
import type { Limiter } from "./contract.ts";
import { onAbort } from "./on-abort.ts";

/** `concurrency` and `maxQueue` of a limiter, and their bounds: see {@link createLimiter}. */
export interface LimiterOptions {
  /** Concurrent backend calls: 1 to 10,000. */
  readonly concurrency: number;
  /** Calls that may wait: 0 to 1,000,000. */
  readonly maxQueue: number;
}

const LIMITER_OPTIONS: OptionNames<LimiterOptions> = { concurrency: true, maxQueue: true };

/** The concurrency of each limiter. */
const concurrencies = new WeakMap<Limiter, number>();

/** The concurrency of a limiter from `createLimiter`. Undefined for a custom limiter. */
export function concurrencyOf(limiter: Limiter): number | undefined {
  return concurrencies.get(limiter);
}

interface Waiter {
  readonly grant: () => void;
}

/**
 * Creates a limiter for backend calls, first come, first served. Pass the same limiter to the guards of several signers
 * that share a client, an HSM or a quota.
 *
 * @throws ConfigurationError if `concurrency` or `maxQueue` is out of bounds.
 * @example
 * ```ts
 * import { createLimiter, guardSigner, type Signer } from "@signpost/core";
 *
 * declare const tenantA: Signer;
 * declare const tenantB: Signer;
 * const limiter = createLimiter({ concurrency: 16, maxQueue: 1000 });
 * const a = guardSigner(tenantA, { limiter });
 * const b = guardSigner(tenantB, { limiter });
 * ```
 */
export function createLimiter(options: LimiterOptions): Limiter {
  assertOptions("options", options, LIMITER_OPTIONS);
  const concurrency = readWholeNumber("concurrency", options.concurrency, 1, 10_000);
  const maxQueue = readWholeNumber("maxQueue", options.maxQueue, 0, 1_000_000);
  const queue = new ArrivalQueue<Waiter>();
  let active = 0;

  const slot = (): (() => void) => {
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      const next = queue.next();
      if (next === undefined) active -= 1;
      else next.grant();
    };
  };

  const limiter: Limiter = {
    get active() {
      return active;
    },
    get queued() {
      return queue.size;
    },
    acquire(signal) {
      if (signal?.aborted === true) return Promise.reject(signal.reason);
      if (active < concurrency) {
        active += 1;
        return slot();
      }
      if (queue.size >= maxQueue) {
        return Promise.reject(
          new SignerError("overloaded", `the queue is full: ${maxQueue} calls already wait for a slot`),
        );
      }
      return new Promise((resolve, reject) => {
        const letGo = onAbort(signal, () => {
          queue.drop(waiter);
          reject(signal?.reason);
        });
        const waiter: Waiter = {
          grant: () => {
            letGo();
            resolve(slot());
          },
        };
        queue.add(waiter);
      });
    },
  };
  concurrencies.set(limiter, concurrency);
  return limiter;
}
