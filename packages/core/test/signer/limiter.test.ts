import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { ConfigurationError, createLimiter } from "@signpost/core";
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
