import { describe, expect, test } from "vitest";
import { rowsOf } from "../../src/bench/buckets.ts";
import { planBench } from "../../src/bench/plan.ts";
import { Tally } from "../../src/bench/tally.ts";
import { figures, time, whole } from "../../src/bench/units.ts";

test.each([
  [0, "0.00 µs"],
  [0.001, "1.00 µs"],
  [0.0123, "12.3 µs"],
  [0.9994, "999 µs"],
  [0.9995, "1.00 ms"],
  [9.99, "9.99 ms"],
  [9.995, "10.0 ms"],
  [25.43, "25.4 ms"],
  [99.94, "99.9 ms"],
  [99.95, "100 ms"],
  [999.4, "999 ms"],
  [999.5, "1.00 s"],
  [12_345, "12.3 s"],
  [-25.43, "-25.4 ms"],
  [-0.5, "-500 µs"],
])("%d ms are %s", (ms, text) => {
  expect(time(ms)).toBe(text);
});

test("a number has three figures, and a whole one its groups", () => {
  expect([figures(1234), figures(12.34), figures(1.234), whole(1_234_567)]).toEqual([
    "1,234",
    "12.3",
    "1.23",
    "1,234,567",
  ]);
});

describe("the plan", () => {
  test.each([
    ["local", {}, { calls: Infinity, durationMs: 3000 }, undefined],
    ["local", { duration: 2 }, { calls: Infinity, durationMs: 2000 }, undefined],
    ["local", { calls: 7 }, { calls: 7, durationMs: Infinity }, undefined],
    ["local", { duration: 2, calls: 7 }, { calls: 7, durationMs: 2000 }, undefined],
    ["awskms", {}, { calls: 1000, durationMs: Infinity }, "AWS KMS"],
    ["gcpkms", { duration: 0.0015 }, { calls: 2, durationMs: 1.5 }, "Google Cloud KMS"],
    ["azurekms", { duration: 2, calls: 7 }, { calls: 7, durationMs: 2000 }, "Azure Key Vault"],
    ["vault", {}, { calls: Infinity, durationMs: 3000 }, undefined],
  ])("of %s with %j has the limits %j, and %s bills it", (scheme, flags, limits, biller) => {
    expect(planBench(scheme, flags)).toMatchObject({ levels: [1, 4, 16], limits, biller });
  });

  test("says how many calls are billed at most: warm-ups, both sides, and the opening", () => {
    const one = planBench("awskms", { concurrency: [1], calls: 10 }).billedAtMost;
    const two = planBench("awskms", { concurrency: [1, 1], calls: 10 }).billedAtMost;
    const more = planBench("awskms", { concurrency: [1], calls: 11 }).billedAtMost;
    const raw = planBench("awskms", { concurrency: [1], calls: 10, raw: true }).billedAtMost;
    const opening = 2 * one - two;
    expect(opening).toBe(2);
    expect(more - one).toBe(1);
    expect(raw - opening).toBe(2 * (one - opening));
    expect(one).toBeGreaterThan(12);
    expect(planBench("local", { calls: 10, raw: true }).billedAtMost).toBe(0);
  });
});

describe("a tally", () => {
  test("without signatures has no figures", () => {
    const tally = new Tally();
    expect([tally.min, tally.max, tally.mean, tally.percentile(50), tally.perSecond]).toEqual([
      null,
      null,
      null,
      null,
      0,
    ]);
    tally.busyMs = 1000;
    expect([tally.perSecond, tally.failures, tally.buckets]).toEqual([0, 0, []]);
  });

  test("has those of its signatures", () => {
    const tally = new Tally();
    for (const ms of [4, 1, 2, 1]) tally.record(ms);
    tally.busyMs = 500;
    expect([tally.signatures, tally.min, tally.max, tally.mean, tally.perSecond]).toEqual([4, 1, 4, 2, 8]);
    expect(tally.buckets.map(({ count }) => count)).toEqual([2, 1, 1]);
    for (const { fromMs, toMs } of tally.buckets) expect(toMs / fromMs).toBeCloseTo(2 ** (1 / 16), 6);
    const [first] = tally.buckets;
    expect((first?.fromMs ?? 9) <= 1 && (first?.toMs ?? 0) > 1).toBe(true);
  });

  test("of calls below a millisecond has their slowest one", () => {
    const tally = new Tally();
    for (const ms of [0.25, 0.5]) tally.record(ms);
    expect([tally.min, tally.max, tally.mean]).toEqual([0.25, 0.5, 0.375]);
  });

  test("tells a percentile from the slowest call if it can", () => {
    const tally = new Tally();
    for (let count = 1; count <= 99; count += 1) tally.record(count);
    expect(tally.percentile(99)).toBeNull();
    tally.record(100);
    expect(tally.percentile(99)).toBeCloseTo(99, 0);
    expect(tally.percentile(50)).toBeCloseTo(50, 0);
    expect(tally.percentile(99.9)).toBeNull();
    for (let count = 0; count < 900; count += 1) tally.record(1);
    expect(tally.percentile(99.9)).toBeLessThanOrEqual(100);
  });

  test("takes times of nothing and of hours", () => {
    const tally = new Tally();
    for (const ms of [0, 10 * 3_600_000]) tally.record(ms);
    expect([tally.min, tally.max, tally.signatures]).toEqual([0, 36_000_000, 2]);
  });

  test("counts errors by code, the most frequent first", () => {
    const tally = new Tally();
    for (const code of ["timeout", "throttled", "throttled"]) tally.fail(code);
    expect(Object.entries(tally.errors)).toEqual([
      ["throttled", 2],
      ["timeout", 1],
    ]);
    expect(tally.failures).toBe(3);
  });
});

describe("the rows of a histogram", () => {
  const tallyOf = (...times: readonly number[]): Tally => {
    const tally = new Tally();
    for (const ms of times) tally.record(ms);
    return tally;
  };

  test("are none without a signature", () => {
    expect(rowsOf([])).toBeUndefined();
    expect(rowsOf([new Tally()])).toBeUndefined();
  });

  test("have all calls of each side, in at most twelve rows that begin a fixed factor apart", () => {
    const sides = [tallyOf(1, 1.5, 2, 300), tallyOf(4, 900), new Tally()];
    const rows = rowsOf(sides);
    const sums = rows?.counts.map((counts) => counts.reduce((sum, count) => sum + count, 0));
    expect(sums).toEqual([4, 2, 0]);
    expect(rows?.starts.length).toBeLessThanOrEqual(12);
    const factors = rows?.starts.slice(1).map((start, index) => start / (rows.starts[index] ?? 1)) ?? [];
    for (const factor of factors) expect(factor).toBeCloseTo(factors[0] ?? 0, 6);
    expect(rows?.starts[0]).toBeLessThanOrEqual(1);
  });

  test("have one for all calls that are much slower than the others", () => {
    const times = Array.from({ length: 1000 }, (_, index) => 10 + index / 1000);
    const rows = rowsOf([tallyOf(...times, 5000, 9000)]);
    expect(rows?.isLastOpen).toBe(true);
    expect(rows?.counts[0]?.at(-1)).toBe(2);
    expect(rowsOf([tallyOf(...times)])?.isLastOpen).toBe(false);
  });
});
