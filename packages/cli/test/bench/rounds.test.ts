import { afterEach, describe, expect, test, vi } from "vitest";
import { measureLevel, type LevelOptions } from "../../src/bench/measure.ts";
import type { Side } from "../../src/bench/side.ts";

// How two sides share what is measured, and what is counted of it.

afterEach(() => void vi.useRealTimers());

const NEVER = new Promise<void>(() => undefined);

function options(more: Partial<LevelOptions>): LevelOptions {
  const { signal } = new AbortController();
  const limits = { calls: Infinity, durationMs: Infinity, concurrency: 1 };
  return { ...limits, signal, ended: NEVER, onCall: () => undefined, repeats: () => 0, ...more };
}

function side(name: string, sign: (call: number) => Promise<void> | void): Side {
  let calls = 0;
  return {
    name,
    sign: async () => {
      calls += 1;
      await sign(calls);
    },
    codeOf: String,
    close: async () => undefined,
  };
}

/** Two sides, and the calls of each turn that are measured, such as `a20 b40`. */
async function turns(more: Partial<LevelOptions>, onCall: () => void = () => undefined) {
  const { concurrency = 1 } = more;
  const found: { name: string; count: number }[] = [];
  const counting = (name: string): Side =>
    side(name, (call) => {
      if (call <= concurrency) return;
      onCall();
      const last = found.at(-1);
      if (last?.name === name) last.count += 1;
      else found.push({ name, count: 1 });
    });
  const { tallies } = await measureLevel([counting("a"), counting("b")], options(more));
  return { order: found.map(({ name, count }) => name + count).join(" "), tallies };
}

describe("two sides take turns", () => {
  test.each<[limits: Partial<LevelOptions>, order: string]>([
    [{ calls: 19 }, "a19 b19"],
    [{ calls: 39 }, "a39 b39"],
    [{ calls: 40 }, "a20 b40 a20"],
    [{ calls: 60 }, "a20 b40 a40 b20"],
    [{ calls: 61 }, "a20 b40 a41 b21"],
    [{ calls: 80, concurrency: 2 }, "a40 b80 a40"],
    [{ calls: 200 }, `a20 ${"b40 a40 ".repeat(4)}b40 a20`],
    [{ calls: 220 }, `a22 ${"b44 a44 ".repeat(4)}b44 a22`],
    [{ calls: 200, durationMs: 2999 }, "a100 b200 a100"],
  ])("of %j: %s", async (limits, order) => {
    const { tallies, ...found } = await turns(limits);
    expect(found.order).toBe(order);
    expect(tallies.map(({ signatures }) => signatures)).toEqual([limits.calls, limits.calls]);
  });

  test("of a second at least, and each has its part of the time", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const { order, tallies } = await turns({ durationMs: 3000 }, () => void vi.advanceTimersByTime(100));
    expect(order).toBe("a10 b20 a20 b10");
    expect(tallies.map(({ busyMs, perSecond }) => [busyMs, perSecond])).toEqual([
      [3000, 10],
      [3000, 10],
    ]);
    expect(tallies.map(({ min, max }) => [min, max])).toEqual([
      [100, 100],
      [100, 100],
    ]);
  });
});

describe("a side that fails", () => {
  const failing = (): Side => side("a", () => Promise.reject("timeout"));

  test("twenty times in a row is given up", async () => {
    const { tallies, gaveUp } = await measureLevel([failing()], options({ calls: 1000 }));
    expect([gaveUp, tallies[0]?.failures]).toEqual([true, 20]);
  });

  test("goes on if a call succeeds before the twentieth failure", async () => {
    // The first call is not measured.
    const often = side("a", (call) => ((call - 1) % 20 === 0 ? undefined : Promise.reject("timeout")));
    const { tallies, gaveUp } = await measureLevel([often], options({ calls: 200 }));
    expect([gaveUp, tallies[0]?.signatures, tallies[0]?.failures]).toEqual([false, 10, 190]);
  });

  test("of many callers has two failures for each", async () => {
    const { tallies, gaveUp } = await measureLevel([failing()], options({ calls: 10_000, concurrency: 100 }));
    expect(gaveUp).toBe(true);
    expect(tallies[0]?.failures).toBeGreaterThanOrEqual(200);
    expect(tallies[0]?.failures).toBeLessThan(400);
  });
});

test("calls that ended are told, and of the first ones only those that made a signature", async () => {
  let told = 0;
  const onCall = (): void => void (told += 1);
  const failsFirst = side("a", (call) => (call === 1 || call === 5 ? Promise.reject("timeout") : undefined));
  const { tallies } = await measureLevel([failsFirst], options({ calls: 10, concurrency: 2, onCall }));
  expect([told, tallies[0]?.signatures, tallies[0]?.failures]).toEqual([11, 9, 1]);
});

test("repeated attempts are those of the side in whose turn they were made, without the first calls", async () => {
  let repeats = 0;
  const repeating = side("a", () => void (repeats += 2));
  const other = side("b", () => undefined);
  const { tallies } = await measureLevel([repeating, other], options({ calls: 60, repeats: () => repeats }));
  expect(tallies.map((tally) => tally.repeats)).toEqual([120, 0]);
  expect(repeats).toBe(122);
});
