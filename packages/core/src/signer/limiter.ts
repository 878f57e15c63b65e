import { ConfigurationError, SignerError } from "../errors.ts";
import { assertOptions, type OptionNames } from "../options/assert-options.ts";
import { readWholeNumber } from "../options/read-values.ts";
import { ArrivalQueue } from "./arrival-queue.ts";
import { CallerEnding, type Ending } from "./attempt-controller.ts";
import type { Limiter } from "./contract.ts";
import { createTokenBucket, type LimiterRateOptions, type TokenBucket } from "./token-bucket.ts";

/** What a limiter limits: concurrency, rate, or both. See {@link createLimiter}. */
export interface LimiterOptions {
  /** Concurrent backend calls: 1 to 10,000. Default: no limit. Required without `rate`. */
  readonly concurrency?: number | undefined;
  /** Backend calls in a span of time, such as `{ permits: 2000, perSeconds: 10 }`. Default: no limit. */
  readonly rate?: LimiterRateOptions | undefined;
  /** Calls that may wait: 0 to 1,000,000. */
  readonly maxQueue: number;
}

const LIMITER_OPTIONS: OptionNames<LimiterOptions> = { concurrency: true, rate: true, maxQueue: true };

interface Own {
  readonly acquire: Limiter["acquire"];
  /** Undefined for one by rate alone. */
  readonly concurrency: number | undefined;
  /** As `acquire`, with an end that needs no signal. */
  readonly acquireUntil: (ending: Ending | undefined, withinMs: number) => Acquired;
}

type Acquired = ReturnType<Limiter["acquire"]>;

/** What core uses of each limiter from `createLimiter`, and of those with a known concurrency. */
const own = new WeakMap<Limiter, Own>();

/** The concurrency of a limiter, if it is known. Undefined for one by rate alone, and for a custom limiter. */
export function concurrencyOf(limiter: Limiter): number | undefined {
  return own.get(limiter)?.concurrency;
}

/**
 * Takes a slot, as `acquire` does. The signal is only made for a custom limiter, and for one whose `acquire` the caller has
 * replaced.
 */
export function acquireUntil(limiter: Limiter, ending: Ending, withinMs: number): Acquired {
  const ours = own.get(limiter);
  if (ours?.acquire === limiter.acquire) return ours.acquireUntil(ending, withinMs);
  return limiter.acquire(ending.signal, withinMs);
}

/**
 * Says how many calls at once a limiter allows that an adapter wrote. A guard then bounds calls without an answer by that number,
 * as with a limiter from `createLimiter`. Returns the limiter.
 *
 * @example
 * ```ts
 * import type { Limiter } from "@signpost/core";
 * import { withConcurrency } from "@signpost/core/adapter";
 *
 * declare const slots: Limiter;
 * export const limiter = withConcurrency({ ...slots, acquire: (...args) => slots.acquire(...args) }, 64);
 * ```
 */
export function withConcurrency(limiter: Limiter, concurrency: number): Limiter {
  const { acquire } = limiter;
  own.set(limiter, {
    acquire,
    concurrency,
    acquireUntil: (ending, withinMs) => limiter.acquire(ending?.signal, withinMs),
  });
  return limiter;
}

/**
 * Creates a limiter for backend calls, first come, first served. Pass the same limiter to the guards of several signers
 * that share a client, an HSM or a quota.
 *
 * `rate` is a token bucket. In each span of `perSeconds` it allows at most `permits` calls, retries included. It is per
 * process, so divide a quota by the number of replicas. A call that cannot get a permit before its deadline rejects with
 * `overloaded` immediately.
 *
 * @throws ConfigurationError if an option is out of bounds, or neither `concurrency` nor `rate` is given.
 * @example
 * ```ts
 * import { createLimiter, guardSigner, type Signer } from "@signpost/core";
 *
 * declare const tenantA: Signer;
 * declare const tenantB: Signer;
 * const limiter = createLimiter({ concurrency: 16, rate: { permits: 2000, perSeconds: 10 }, maxQueue: 1000 });
 * const a = guardSigner(tenantA, { limiter });
 * const b = guardSigner(tenantB, { limiter });
 * ```
 */
export function createLimiter(options: LimiterOptions): Limiter {
  assertOptions("options", options, LIMITER_OPTIONS);
  const { concurrency, rate } = options;
  if (concurrency === undefined && rate === undefined) {
    throw new ConfigurationError("options", "expected concurrency, rate, or both, got neither");
  }
  return limiterOf(
    concurrency === undefined ? Infinity : readWholeNumber("concurrency", concurrency, 1, 10_000),
    rate === undefined ? undefined : createTokenBucket("rate", rate),
    readWholeNumber("maxQueue", options.maxQueue, 0, 1_000_000),
  );
}

function limiterOf(concurrency: number, bucket: TokenBucket | undefined, maxQueue: number): Limiter {
  /** Each function grants a slot. */
  const queue = new ArrivalQueue<() => void>();
  let active = 0;
  /** Fires when the first waiter's permit is there. Only while a call waits, so no process stays up for a bucket. */
  let timer: NodeJS.Timeout | undefined;

  const slot = (): (() => void) => {
    active += 1;
    bucket?.take();
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      active -= 1;
      // While the timer runs, the first waiter needs a permit, and a slot does not help it.
      if (queue.size > 0 && timer === undefined) grantAll();
    };
  };
  /** Grants what is free, and comes back when the next permit is there. A slot that is freed comes by without a timer. */
  const grantAll = (): void => {
    timer = undefined;
    while (queue.size > 0 && active < concurrency) {
      const waitMs = bucket?.waitMs(1) ?? 0;
      if (waitMs > 0) {
        timer = setTimeout(grantAll, Math.ceil(waitMs));
        return;
      }
      queue.next()?.();
    }
  };
  const stopIfEmpty = (): void => {
    if (queue.size > 0) return;
    clearTimeout(timer);
    timer = undefined;
  };
  const refusal = (withinMs: number): SignerError | undefined => {
    if (queue.size >= maxQueue) {
      return new SignerError("overloaded", `the queue is full: ${maxQueue} calls already wait for a slot`);
    }
    const waitMs = bucket?.waitMs(queue.size + 1) ?? 0;
    if (withinMs > 0 && waitMs <= withinMs) return undefined;
    const when = waitMs === 0 ? "no slot is free" : `the next free permit is ${Math.ceil(waitMs)} ms away`;
    return new SignerError("overloaded", `${when}, and the call may wait ${Math.floor(withinMs)} ms`);
  };

  const take = (): (() => void) | undefined => {
    const isFree = queue.size === 0 && active < concurrency && (bucket === undefined || bucket.waitMs(1) === 0);
    return isFree ? slot() : undefined;
  };

  const untilEnd = (ending: Ending | undefined, withinMs: number): Acquired => {
    const free = take();
    if (free !== undefined) return free;
    const refused = refusal(withinMs);
    if (refused !== undefined) return Promise.reject(refused);
    return new Promise((resolve, reject) => {
      const leave = queue.add(() => {
        letGo?.();
        resolve(slot());
      });
      const letGo = ending?.onEnd(() => {
        leave();
        stopIfEmpty();
        reject(ending.reason);
      });
      if (timer === undefined && queue.size === 1) grantAll();
    });
  };

  const limiter: Limiter = {
    get active() {
      return active;
    },
    get queued() {
      return queue.size;
    },
    acquire(signal, withinMs = Infinity) {
      if (signal?.aborted === true) return Promise.reject(signal.reason);
      return untilEnd(signal && new CallerEnding(signal), withinMs);
    },
  };
  const { acquire } = limiter;
  own.set(limiter, {
    acquire,
    concurrency: concurrency === Infinity ? undefined : concurrency,
    acquireUntil: untilEnd,
  });
  return limiter;
}
