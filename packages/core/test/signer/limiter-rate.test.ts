import { getEventListeners } from "node:events";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ConfigurationError, createLimiter, type Limiter, type LimiterRateOptions } from "@signpost/core";
import { failure } from "../support/failure.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const byRate = (rate: LimiterRateOptions, maxQueue = 100_000): Limiter => createLimiter({ rate, maxQueue });

/** Asks `count` times, and records when each is granted. Slots are given back at once. */
function ask(limiter: Limiter, count: number): number[] {
  const times: number[] = [];
  for (let asked = 0; asked < count; asked += 1) {
    void Promise.resolve(limiter.acquire()).then((release) => {
      times.push(performance.now());
      release();
    });
  }
  return times;
}

/** Whether a call that does not wait gets a permit. */
async function takes(limiter: Limiter): Promise<boolean> {
  return Promise.resolve(limiter.acquire(undefined, 0)).then(
    () => true,
    () => false,
  );
}

/** The most of these times that lie in one half-open span of this length. */
function mostIn(times: readonly number[], spanMs: number): number {
  return Math.max(0, ...times.map((from) => times.filter((time) => time >= from && time < from + spanMs).length));
}

describe("a rate", () => {
  test("grants the burst at once, and spreads the rest over the span", async () => {
    // 100 at once, and 901 spread over a second, of which the last is in the next second.
    const limiter = byRate({ permits: 1000, perSeconds: 1 });
    const times = ask(limiter, 1500);
    await vi.advanceTimersByTimeAsync(0);
    expect(times).toHaveLength(100);
    await vi.advanceTimersByTimeAsync(999);
    expect(times).toHaveLength(1000);
    await vi.advanceTimersByTimeAsync(1000);
    expect(times).toHaveLength(1500);
    expect(mostIn(times, 1000)).toBe(1000);
  });

  test("of one permit allows one call in each span", async () => {
    const times = ask(byRate({ permits: 1, perSeconds: 2 }), 3);
    const start = performance.now();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(times.map((time) => time - start)).toEqual([0, 2000, 4000]);
  });

  test("with all permits as burst allows them at once, and then hardly any until the span is over", async () => {
    const limiter = byRate({ permits: 50, perSeconds: 10, burst: 50 });
    const times = ask(limiter, 100);
    await vi.advanceTimersByTimeAsync(9999);
    expect(times).toHaveLength(50);
  });

  test("starts as many calls at once as there are permits, whatever is still active", () => {
    const limiter = byRate({ permits: 100, perSeconds: 1, burst: 100 });
    for (let taken = 0; taken < 100; taken += 1) expect(typeof limiter.acquire()).toBe("function");
    expect(limiter).toMatchObject({ active: 100, queued: 0 });
  });

  test("does not get a permit back with the slot", async () => {
    const limiter = byRate({ permits: 1, perSeconds: 1 });
    const release = await limiter.acquire();
    release();
    expect(limiter.active).toBe(0);
    expect(limiter.acquire()).toBeInstanceOf(Promise);
  });

  test("waits for a slot and a permit if both are limited", async () => {
    const limiter = createLimiter({ concurrency: 1, rate: { permits: 10, perSeconds: 1, burst: 2 }, maxQueue: 10 });
    const first = await limiter.acquire();
    const second = vi.fn<(release: () => void) => void>();
    const third = vi.fn<(release: () => void) => void>();
    void Promise.resolve(limiter.acquire()).then(second);
    void Promise.resolve(limiter.acquire()).then(third);
    await vi.advanceTimersByTimeAsync(50);
    expect(second).not.toHaveBeenCalled();
    first();
    await vi.advanceTimersByTimeAsync(0);
    expect(second).toHaveBeenCalled();
    second.mock.calls[0]?.[0]();
    // The slot is free, and the permit is not there yet: 9 a second, the first one at 111 ms.
    await vi.advanceTimersByTimeAsync(61);
    expect(third).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(third).toHaveBeenCalled();
  });
});

describe("the clock of a rate", () => {
  test("that stood still for an hour gives one bucket", async () => {
    const limiter = byRate({ permits: 1000, perSeconds: 10 });
    const before = ask(limiter, 2000);
    await vi.advanceTimersByTimeAsync(0);
    expect(before).toHaveLength(100);
    const frozenAt = performance.now();
    // The timer fires late, as after a freeze.
    const clock = vi.spyOn(performance, "now").mockReturnValue(frozenAt + 3_600_000);
    await vi.advanceTimersByTimeAsync(1000);
    clock.mockRestore();
    expect(before).toHaveLength(200);
  });

  test("is not the wall clock: setting that gives nothing, and takes nothing", async () => {
    const limiter = byRate({ permits: 10, perSeconds: 1 });
    const times = ask(limiter, 5);
    await vi.advanceTimersByTimeAsync(0);
    vi.setSystemTime(Date.now() + 86_400_000);
    await vi.advanceTimersByTimeAsync(99);
    expect(times).toHaveLength(1);
    vi.setSystemTime(0);
    await vi.advanceTimersByTimeAsync(301);
    expect(times).toHaveLength(5);
  });

  test("gives nothing twice if it goes back and comes again", async () => {
    const limiter = byRate({ permits: 100, perSeconds: 1, burst: 10 });
    const start = performance.now();
    const times = ask(limiter, 10);
    await vi.advanceTimersByTimeAsync(0);
    expect(times).toHaveLength(10);
    const clock = vi.spyOn(performance, "now");
    for (const at of [100, -500, 100, -500, 100]) {
      clock.mockReturnValue(start + at);
      while (await takes(limiter)) times.push(at);
    }
    clock.mockRestore();
    // 91 a second: nine of them in 100 ms.
    expect(times).toHaveLength(19);
  });
});

describe("a call that must wait for a permit", () => {
  test("rejects at once if none can be there in time, and names the wait", async () => {
    const limiter = byRate({ permits: 1, perSeconds: 10 });
    await limiter.acquire();
    const error = await failure(Promise.resolve(limiter.acquire(undefined, 5000)));
    expect(error).toMatchObject({ code: "overloaded", transient: true });
    expect(String(error)).toContain("10000 ms away");
    expect(limiter.queued).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("counts the calls ahead of it", async () => {
    const limiter = byRate({ permits: 10, perSeconds: 1, burst: 1 });
    await limiter.acquire();
    // The waits are 100, 200, 300 ms.
    for (const withinMs of [100, 200, 300]) void limiter.acquire(undefined, withinMs);
    expect(limiter.queued).toBe(3);
    expect(await failure(Promise.resolve(limiter.acquire(undefined, 399)))).toMatchObject({ code: "overloaded" });
    expect(limiter.acquire(undefined, 400)).toBeInstanceOf(Promise);
    expect(limiter.queued).toBe(4);
  });

  test.each([
    ["a slot", { concurrency: 1, maxQueue: 10 }],
    ["a permit", { rate: { permits: 1, perSeconds: 86_400 }, maxQueue: 10 }],
  ])("does not wait for %s with 0 ms", async (_name, options) => {
    const limiter = createLimiter(options);
    expect(typeof limiter.acquire(undefined, 0)).toBe("function");
    expect(await failure(Promise.resolve(limiter.acquire(undefined, 0)))).toMatchObject({ code: "overloaded" });
    expect(limiter).toMatchObject({ active: 1, queued: 0 });
  });

  test("is refused as overloaded if the queue is full", async () => {
    const limiter = byRate({ permits: 1, perSeconds: 1 }, 1);
    await limiter.acquire();
    void limiter.acquire();
    expect(await failure(Promise.resolve(limiter.acquire()))).toMatchObject({ code: "overloaded" });
  });

  test("that is aborted leaves the queue with its listener and its timer, and the permit to the next", async () => {
    const limiter = byRate({ permits: 1, perSeconds: 1 });
    await limiter.acquire();
    const controller = new AbortController();
    const waiting = failure(Promise.resolve(limiter.acquire(controller.signal)));
    expect(vi.getTimerCount()).toBe(1);
    controller.abort("reason");
    expect(await waiting).toBe("reason");
    expect(limiter.queued).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(1000);
    expect(typeof limiter.acquire()).toBe("function");
  });

  test("shares one timer with all others", async () => {
    const limiter = byRate({ permits: 100, perSeconds: 1 });
    ask(limiter, 1000);
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(5000);
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(6000);
    expect(vi.getTimerCount()).toBe(0);
    expect(limiter).toMatchObject({ active: 0, queued: 0 });
  });
});

describe("the process", () => {
  const pending = (): number => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;

  test("may end while a bucket fills, and not while a call waits for it", async () => {
    vi.useRealTimers();
    const before = pending();
    const limiter = byRate({ permits: 1, perSeconds: 60 });
    const release = await limiter.acquire();
    expect(pending()).toBe(before);
    const controller = new AbortController();
    const waiting = failure(Promise.resolve(limiter.acquire(controller.signal)));
    expect(pending()).toBe(before + 1);
    release();
    expect(pending()).toBe(before + 1);
    controller.abort();
    await waiting;
    expect(pending()).toBe(before);
  });
});

interface Arrival {
  readonly gapMs: number;
  readonly heldMs: number;
  /** How long after its arrival the call is aborted. */
  readonly abortMs: number | undefined;
}

const ARRIVALS: fc.Arbitrary<Arrival[]> = fc.array(
  fc.record({
    gapMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 700 })),
    heldMs: fc.integer({ min: 0, max: 300 }),
    abortMs: fc.option(fc.integer({ min: 0, max: 400 }), { nil: undefined, freq: 4 }),
  }),
  { minLength: 1, maxLength: 80 },
);
const RATES = fc
  .record({ permits: fc.integer({ min: 1, max: 30 }), perSeconds: fc.integer({ min: 1, max: 3 }) })
  .chain(({ permits, perSeconds }) =>
    fc
      .option(fc.integer({ min: 1, max: permits }), { nil: undefined })
      .map((burst) => ({ permits, perSeconds, burst })),
  );

/** Plays the arrivals. Returns what was granted, with its time, and how often a call was aborted before that. */
async function play(limiter: Limiter, arrivals: readonly Arrival[]) {
  const granted: { readonly index: number; readonly at: number; readonly active: number }[] = [];
  let aborted = 0;
  for (const [index, { gapMs, heldMs, abortMs }] of arrivals.entries()) {
    await vi.advanceTimersByTimeAsync(gapMs);
    const controller = new AbortController();
    if (abortMs !== undefined) setTimeout(() => controller.abort(), abortMs);
    void Promise.resolve(limiter.acquire(controller.signal)).then(
      (release) => {
        granted.push({ index, at: performance.now(), active: limiter.active });
        setTimeout(release, heldMs);
      },
      () => {
        aborted += 1;
      },
    );
  }
  // Longer than all of them one after another.
  await vi.advanceTimersByTimeAsync(arrivals.length * 3500);
  return { granted, aborted };
}

describe("whatever arrives and is aborted", () => {
  test("no span has more than its permits, the order is kept, and nothing is lost or left", async () => {
    await fc.assert(
      fc.asyncProperty(
        RATES,
        fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
        ARRIVALS,
        async (rate, concurrency, arrivals) => {
          const limiter = createLimiter({ rate, concurrency, maxQueue: 1000 });
          const { granted, aborted } = await play(limiter, arrivals);

          const times = granted.map(({ at }) => at);
          expect(mostIn(times, rate.perSeconds * 1000)).toBeLessThanOrEqual(rate.permits);
          const burst = rate.burst ?? Math.ceil(rate.permits / 10);
          const perMs = (rate.permits - burst + 1) / (rate.perSeconds * 1000);
          for (const [first, from] of times.entries()) {
            for (const [last, until] of times.entries()) {
              if (last < first) continue;
              expect(last - first + 1).toBeLessThanOrEqual(burst + perMs * (until - from) + 1e-6);
            }
          }
          const order = granted.map(({ index }) => index);
          expect(order).toEqual(order.toSorted((a, b) => a - b));
          expect(Math.max(0, ...granted.map(({ active }) => active))).toBeLessThanOrEqual(concurrency ?? Infinity);
          expect(granted.length + aborted).toBe(arrivals.length);
          expect(limiter).toMatchObject({ active: 0, queued: 0 });
          expect(vi.getTimerCount()).toBe(0);
        },
      ),
      { numRuns: 60 },
    );
  });

  test("a queue that never empties gets every permit, up to the time that a timer may be late", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({ permits: fc.integer({ min: 10, max: 1500 }), perSeconds: fc.integer({ min: 1, max: 3 }) }),
        async (rate) => {
          const limiter = byRate(rate);
          const times = ask(limiter, rate.permits * 2);
          const start = performance.now();
          await vi.advanceTimersByTimeAsync(rate.perSeconds * 3000);
          const burst = Math.ceil(rate.permits / 10);
          const intervalMs = (rate.perSeconds * 1000) / (rate.permits - burst + 1);
          // A bucket of one permit loses what the timer is late: less than a millisecond each time.
          const lateMs = (place: number): number => (burst === 1 ? place + 1 : 2);
          for (const [place, at] of times.entries()) {
            const due = Math.max(0, (place + 1 - burst) * intervalMs);
            expect(at - start).toBeLessThanOrEqual(due + lateMs(place));
          }
          expect(times).toHaveLength(rate.permits * 2);
        },
      ),
      { numRuns: 15 },
    );
  });
});

describe("options of a rate", () => {
  test.each([
    [{ maxQueue: 1 }, "options"],
    [{ rate: { permits: 0, perSeconds: 1 }, maxQueue: 1 }, "rate.permits"],
    [{ rate: { permits: 1.5, perSeconds: 1 }, maxQueue: 1 }, "rate.permits"],
    [{ rate: { permits: 1_000_001, perSeconds: 1 }, maxQueue: 1 }, "rate.permits"],
    [{ rate: { permits: 1, perSeconds: 0 }, maxQueue: 1 }, "rate.perSeconds"],
    [{ rate: { permits: 1, perSeconds: 86_401 }, maxQueue: 1 }, "rate.perSeconds"],
    [{ rate: { permits: 10, perSeconds: 1, burst: 0 }, maxQueue: 1 }, "rate.burst"],
    [{ rate: { permits: 10, perSeconds: 1, burst: 11 }, maxQueue: 1 }, "rate.burst"],
    [{ rate: { permits: 10, perSeconds: 1, burst: null as unknown as number }, maxQueue: 1 }, "rate.burst"],
    [{ rate: { permits: 10 } as LimiterRateOptions, maxQueue: 1 }, "rate.perSeconds"],
    [{ rate: { permits: 10, perSecond: 1 } as unknown as LimiterRateOptions, maxQueue: 1 }, "rate.perSecond"],
    [{ rate: 200 as unknown as LimiterRateOptions, maxQueue: 1 }, "rate"],
    [{ rate: null as unknown as LimiterRateOptions, maxQueue: 1 }, "rate"],
  ])("%o are refused, and %s is named", (options, argument) => {
    const refused = () => createLimiter(options);
    expect(refused).toThrow(ConfigurationError);
    expect(refused).toThrow(expect.objectContaining({ argument }));
  });
});
