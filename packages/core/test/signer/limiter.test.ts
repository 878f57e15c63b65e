import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { ConfigurationError, createLimiter, type Limiter } from "@signpost/core";
import { withConcurrency } from "@signpost/core/adapter";
import { AttemptController } from "../../src/signer/attempt-controller.ts";
import { acquireUntil, concurrencyOf } from "../../src/signer/limiter.ts";
import { failure } from "../support/failure.ts";

describe("a limiter", () => {
  test("grants slots immediately while some are free", async () => {
    const limiter = createLimiter({ concurrency: 2, maxQueue: 0 });
    expect(typeof limiter.acquire()).toBe("function");
    expect(typeof limiter.acquire()).toBe("function");
    expect(limiter.active).toBe(2);
  });

  test("serves waiters in the order of their arrival", async () => {
    const limiter = createLimiter({ concurrency: 1, maxQueue: 10 });
    const order: number[] = [];
    const release = await limiter.acquire();
    const waiters = [1, 2, 3].map(async (number) => {
      const done = await limiter.acquire();
      order.push(number);
      done();
    });
    expect(limiter.queued).toBe(3);
    release();
    await Promise.all(waiters);
    expect(order).toEqual([1, 2, 3]);
    expect(limiter.active).toBe(0);
  });

  test("rejects with overloaded when its queue is full", async () => {
    const limiter = createLimiter({ concurrency: 1, maxQueue: 0 });
    await limiter.acquire();
    expect(await failure(Promise.resolve(limiter.acquire()))).toMatchObject({ code: "overloaded", transient: true });
  });

  test("takes a slot back once, however often it is given back", async () => {
    const limiter = createLimiter({ concurrency: 2, maxQueue: 0 });
    const release = await limiter.acquire();
    await limiter.acquire();
    release();
    release();
    expect(limiter.active).toBe(1);
  });

  test("drops a waiter whose signal aborts, and serves the next", async () => {
    const limiter = createLimiter({ concurrency: 1, maxQueue: 10 });
    const release = await limiter.acquire();
    const controller = new AbortController();
    const aborted = failure(Promise.resolve(limiter.acquire(controller.signal)));
    const next = limiter.acquire();
    controller.abort("reason");
    expect(await aborted).toBe("reason");
    release();
    expect(typeof (await next)).toBe("function");
  });

  test("leaves no listener on a signal that outlives the wait", async () => {
    const limiter = createLimiter({ concurrency: 1, maxQueue: 10 });
    const release = await limiter.acquire();
    const { signal } = new AbortController();
    let listeners = 0;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners += 1;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners -= 1;
      remove(...args);
    };
    const waiting = limiter.acquire(signal);
    expect(listeners).toBe(1);
    release();
    await waiting;
    expect(listeners).toBe(0);
  });

  test("puts one listener on a signal that many waiters share", async () => {
    const limiter = createLimiter({ concurrency: 1, maxQueue: 100 });
    await limiter.acquire();
    const controller = new AbortController();
    const waiters = Array.from({ length: 100 }, () => failure(Promise.resolve(limiter.acquire(controller.signal))));
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(1);
    controller.abort("reason");
    expect(new Set(await Promise.all(waiters))).toEqual(new Set(["reason"]));
    expect(limiter.queued).toBe(0);
  });

  test.each([
    [{ concurrency: 0, maxQueue: 1 }, "concurrency"],
    [{ concurrency: 1.5, maxQueue: 1 }, "concurrency"],
    [{ concurrency: 1, maxQueue: -1 }, "maxQueue"],
    [{ concurrency: 1, maxQueue: Number.NaN }, "maxQueue"],
  ])("refuses %o and names %s", (options, argument) => {
    const refused = () => createLimiter(options);
    expect(refused).toThrow(ConfigurationError);
    expect(refused).toThrow(expect.objectContaining({ argument }));
  });
});

describe("the concurrency of a limiter", () => {
  const rate = { permits: 10, perSeconds: 1 };
  const slots = createLimiter({ concurrency: 3, maxQueue: 1 });

  test("is known of ours, unless it has none, and not of others", () => {
    expect(concurrencyOf(slots)).toBe(3);
    expect(concurrencyOf(createLimiter({ concurrency: 3, rate, maxQueue: 1 }))).toBe(3);
    expect(concurrencyOf(createLimiter({ rate, maxQueue: 1 }))).toBeUndefined();
    expect(concurrencyOf({ ...slots })).toBeUndefined();
  });

  test("is what an adapter has chosen, which stays as it is", () => {
    const own = { ...slots };
    expect(withConcurrency(own, 7)).toBe(own);
    expect(concurrencyOf(own)).toBe(7);
  });
});

describe("a slot for an attempt", () => {
  /** A limiter of others, which grants at once and writes down what it was asked. */
  function recording() {
    const asked: unknown[][] = [];
    const release = (): void => undefined;
    const limiter: Limiter = {
      active: 0,
      queued: 0,
      acquire: (...args) => {
        asked.push(args);
        return release;
      },
    };
    return { limiter, asked, release };
  }

  test("of ours needs no signal", async () => {
    const limiter = createLimiter({ concurrency: 1, maxQueue: 1 });
    const ending = new AttemptController();
    expect(typeof acquireUntil(limiter, ending, 1000)).toBe("function");
    const waiting = failure(Promise.resolve(acquireUntil(limiter, ending, 1000)));
    expect(ending.madeSignal).toBeUndefined();
    ending.abort("reason");
    expect([await waiting, limiter.queued]).toEqual(["reason", 0]);
  });

  test.each([
    ["of others", (limiter: Limiter) => limiter],
    ["that an adapter wrote", (limiter: Limiter) => withConcurrency(limiter, 7)],
    [
      "whose acquire was replaced",
      ({ acquire }: Limiter) => Object.assign(createLimiter({ concurrency: 1, maxQueue: 0 }), { acquire }),
    ],
    [
      "that an adapter wrote, and whose acquire was replaced",
      ({ acquire }: Limiter) =>
        Object.assign(withConcurrency({ ...createLimiter({ concurrency: 1, maxQueue: 0 }) }, 7), { acquire }),
    ],
  ])("%s comes from its acquire, with the signal and the time", (_whose, wrap) => {
    const { limiter, asked, release } = recording();
    const ending = new AttemptController();
    expect(acquireUntil(wrap(limiter), ending, 250)).toBe(release);
    expect(asked).toEqual([[ending.madeSignal, 250]]);
    expect(ending.madeSignal).toBeInstanceOf(AbortSignal);
  });
});
