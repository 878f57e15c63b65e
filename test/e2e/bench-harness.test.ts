import { describe, expect, test } from "vitest";
import { concurrently, makeHot, measure, sequentially } from "../bench/measure.ts";
import { toMarkdown } from "../bench/report.ts";
import { medianEstimate, spreadOf } from "../bench/statistics.ts";
import { targetsTable } from "../bench/targets.ts";
import { inVirtualTime } from "../bench/virtual-time.ts";
import { verdictOf } from "../bench/verdict.ts";

const ascending = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

describe("the confidence interval of a median", () => {
  // Ranks of the 95 % interval by order statistics, from the binomial distribution with p = ½.
  test.each([
    { samples: 6, low: 1, high: 6 },
    { samples: 10, low: 2, high: 9 },
    { samples: 20, low: 6, high: 15 },
    { samples: 50, low: 18, high: 33 },
    { samples: 100, low: 40, high: 61 },
  ])("of $samples samples lies from rank $low to rank $high", ({ samples, low, high }) => {
    expect(medianEstimate(ascending(samples))).toEqual({ value: (samples + 1) / 2, low, high });
  });

  test("does not depend on the order of the samples", () => {
    expect(medianEstimate(ascending(100).toReversed())).toEqual(medianEstimate(ascending(100)));
  });

  test("is as wide as the samples where there are too few", () => {
    expect(medianEstimate([3, 1, 2])).toEqual({ value: 2, low: 1, high: 3 });
  });

  test("narrows as one over the square root of many samples", () => {
    const { low, high } = medianEstimate(ascending(10_000));
    expect(high - low).toBeGreaterThan(190);
    expect(high - low).toBeLessThan(200);
  });
});

test("quantiles are interpolated between neighbouring samples", () => {
  expect(spreadOf([4, 1, 3, 2])).toEqual({ median: 2.5, p25: 1.75, p75: 3.25, p99: expect.closeTo(3.97, 10) });
});

test("no samples have no median", () => {
  expect(() => spreadOf([])).toThrow("expected at least one sample");
});

describe("measuring a pairing", () => {
  const recording = (): {
    order: string[];
    contender: (name: string) => { name: string; run: () => Promise<void> };
  } => {
    const order: string[] = [];
    return { order, contender: (name) => ({ name, run: async () => void order.push(name) }) };
  };

  test("takes both in turn and gives each the first place as often as the other", async () => {
    const { order, contender } = recording();
    await measure({ name: "row", ours: contender("ours"), peer: contender("peer"), pairs: 20 });
    const firsts = order.filter((_, index) => index % 2 === 0);
    expect(order.filter((name) => name === "ours")).toHaveLength(order.length / 2);
    expect(firsts.slice(-20).filter((name) => name === "ours")).toHaveLength(10);
  });

  test("throws the warm-up away", async () => {
    const { order, contender } = recording();
    const result = await measure({ name: "row", ours: contender("ours"), peer: contender("peer"), pairs: 20 });
    expect(order.length).toBeGreaterThan(2 * 20);
    expect(result.pairs).toBe(20);
  });

  test("finds what ours takes longer and what it costs more, per operation", async () => {
    const time = { now: 0, cpu: 0 };
    const taking = (ms: number, cpuMs: number) =>
      sequentially(async () => {
        time.now += ms;
        time.cpu += cpuMs;
      });
    const result = await measure(
      {
        name: "row",
        ours: { name: "ours", run: taking(12, 3) },
        peer: { name: "peer", run: taking(8, 1) },
        operations: 5,
        pairs: 30,
        target: { addedMs: 4, ratio: 1.4, cpuRatio: 3 },
      },
      { nowMs: () => time.now, cpuMs: () => time.cpu },
    );
    expect(result.ours).toEqual({ name: "ours", ms: evenly(12), cpuMs: evenly(3) });
    expect(result.peer).toEqual({ name: "peer", ms: evenly(8), cpuMs: evenly(1) });
    expect(result.addedMs).toEqual({ value: 4, low: 4, high: 4 });
    expect(result.ratio).toEqual({ value: 1.5, low: 1.5, high: 1.5 });
    expect(result.addedCpuMs).toEqual({ value: 2, low: 2, high: 2 });
    expect(result.cpuRatio).toEqual({ value: 3, low: 3, high: 3 });
    expect(verdictOf(result)).toBe(false);
    expect(toMarkdown(reportOf(result))).toContain("| added ≤ 4, ratio ≤ 1.4, CPU ratio ≤ 3: not met |");
  });

  test.each([
    { showsCpuRatio: true, words: "2 [2, 2], ratio 3 [3, 3]" },
    { showsCpuRatio: undefined, words: "2 [2, 2]" },
  ])("shows $words without a target for processor time", async ({ showsCpuRatio, words }) => {
    let cpu = 0;
    const clock = { nowMs: () => 0, cpuMs: () => cpu };
    const ours = { name: "ours", run: async () => ((cpu += 3), 1) };
    const peer = { name: "peer", run: async () => ((cpu += 1), 1) };
    const result = await measure({ name: "row", ours, peer, pairs: 6, showsCpuRatio }, clock);
    expect(toMarkdown(reportOf(result))).toContain(`| ${words} |`);
  });

  test("takes the word of a contender that measures by itself", async () => {
    const clock = { nowMs: () => 0, cpuMs: () => 0 };
    const ours = { name: "ours", run: async () => 5 };
    const peer = { name: "peer", run: async () => 4 };
    const result = await measure({ name: "row", ours, peer, operations: 10, pairs: 6, idealMs: 2 }, clock);
    expect(result.addedMs).toEqual({ value: 1, low: 1, high: 1 });
    expect(result.ofIdeal).toEqual({ ours: 0.4, peer: 0.5 });
    expect(toMarkdown(reportOf(result))).toContain("| 40 %, 50 % |");
  });

  test.each([
    { ofIdeal: 0.4, met: true },
    { ofIdeal: 0.41, met: false },
  ])("$met that it reaches $ofIdeal of a limit", async ({ ofIdeal, met }) => {
    const clock = { nowMs: () => 0, cpuMs: () => 0 };
    const contender = { name: "both", run: async () => 5 };
    const row = { name: "row", ours: contender, peer: contender, pairs: 6, idealMs: 2, target: { ofIdeal } };
    expect(verdictOf(await measure(row, clock))).toBe(met);
  });

  test.each([
    { limit: 2, met: true },
    { limit: 1.9, met: false },
  ])("$met that its median meets a target of $limit ms more", async ({ limit, met }) => {
    let now = 0;
    let samples = 0;
    // Most samples take 2 ms more. The interval of the median reaches up to those that take 9.
    const ours = { name: "ours", run: async () => void (now += samples++ % 5 < 3 ? 3 : 10) };
    const peer = { name: "peer", run: async () => void (now += 1) };
    const clock = { nowMs: () => now, cpuMs: () => 0 };
    const result = await measure({ name: "row", ours, peer, pairs: 20, target: { addedMs: limit } }, clock);
    expect(result.addedMs).toEqual({ value: 2, low: 2, high: 9 });
    expect(verdictOf(result)).toBe(met);
  });

  test("has no verdict if the peer has no processor time left while it waits for a service", async () => {
    const clock = { nowMs: () => 0, cpuMs: () => cpu };
    let cpu = 0;
    const ours = { name: "ours", run: async () => 2 };
    const peer = { name: "peer", run: async () => ((cpu += 10), 1) };
    const row = { name: "row", ours, peer, operations: 10, pairs: 6, target: { ratio: 1.5 } };
    expect(verdictOf(await measure(row, clock))).toBe(false);
    const waiting = await measure({ ...row, idealMs: 0.1 }, clock);
    expect(verdictOf(waiting)).toBeUndefined();
    expect(toMarkdown(reportOf(waiting))).toContain("| none: the peer is out of CPU |");
  });

  test("has no verdict without a target", async () => {
    const { contender } = recording();
    const result = await measure({ name: "row", ours: contender("ours"), peer: contender("peer"), pairs: 6 });
    expect(verdictOf(result)).toBeUndefined();
    expect(toMarkdown(reportOf(result))).toContain("| none |");
  });
});

test("every target is shown with its results, with separate lists of the rows that miss it and meet it", async () => {
  const row = async (name: string, ms: number, target: object) =>
    measure(
      {
        name,
        ours: { name: "ours", run: async () => ms },
        peer: { name: "peer", run: async () => 1 },
        pairs: 6,
        target,
      },
      {
        nowMs: () => 0,
        cpuMs: () => 0,
      },
    );
  const results = [
    await row("near", 1.1, { addedMs: 0.2, addedCpuMs: 0.05 }),
    await row("far", 3, { addedMs: 0.2 }),
    await row("told alone", 9, {}),
  ];
  const lines = targetsTable([reportOf(...results)]).split("\n");
  expect(lines.slice(2, -1)).toEqual([
    "| x | added ≤ 0.2 | 1 of 2 | far: 2 [2, 2] | near: 0.1 [0.1, 0.1] |",
    "| x | added CPU ≤ 0.05 | 1 of 1 |  | near: 0 [0, 0] |",
  ]);
});

test("makes every operation hot, in turn", async () => {
  const order: string[] = [];
  await makeHot(
    2,
    ["a", "b"].map((name) => async () => order.push(name)),
  );
  expect(order).toEqual(["a", "b", "a", "b"]);
});

test("so many operations are in flight at once, and no more than asked for are made", async () => {
  let active = 0;
  let most = 0;
  let made = 0;
  const run = concurrently(4, async () => {
    active += 1;
    made += 1;
    most = Math.max(most, active);
    await new Promise(setImmediate);
    active -= 1;
  });
  await run(30);
  expect({ most, made }).toEqual({ most: 4, made: 30 });
});

function evenly(ms: number): ReturnType<typeof spreadOf> {
  return { median: ms, p25: ms, p75: ms, p99: ms };
}

function reportOf(...results: Awaited<ReturnType<typeof measure>>[]): Parameters<typeof toMarkdown>[0] {
  const machine = { processor: "a processor", cores: 2, memoryGiB: 1, load: 0, system: "a system", node: "20" };
  return {
    name: "x",
    title: "X",
    quick: true,
    date: "2026-01-01",
    machine,
    versions: {},
    results,
    facts: [],
  };
}

describe("simulated time", () => {
  test("runs timers and immediates in order, and takes no real time", async () => {
    const startedAt = performance.now();
    const seen: [string, number][] = [];
    const see = (name: string): void => void seen.push([name, performance.now()]);
    await inVirtualTime(async () => {
      setTimeout(see, 3_600_000, "late");
      setTimeout(() => {
        setImmediate(see, "immediate");
        setTimeout(see, 0, "soon");
      }, 100);
      clearTimeout(setTimeout(see, 50, "cancelled"));
      setTimeout(see, 100, "same time");
      await new Promise((resolve) => setTimeout(resolve, 7_200_000));
      see("end");
    });
    expect(seen).toEqual([
      ["same time", 100],
      ["immediate", 100],
      ["soon", 101],
      ["late", 3_600_000],
      ["end", 7_200_000],
    ]);
    expect(performance.now() - startedAt).toBeLessThan(60_000);
  });

  test("passes on the error of the work, and ends with the real timers", async () => {
    const timer = globalThis.setTimeout;
    await expect(inVirtualTime(async () => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
    await expect(inVirtualTime(() => new Promise(() => {}))).rejects.toThrow(
      "waits for something that is not simulated",
    );
    expect(globalThis.setTimeout).toBe(timer);
    expect(Object.hasOwn(performance, "now")).toBe(false);
  });
});

test("a fact with a target is a row of the targets", () => {
  const facts = [
    { name: "extra calls", value: "6 %", target: { words: "extra calls ≤ 5 %", isMet: false } },
    { name: "size", value: "3 kB" },
  ];
  const report = { ...reportOf(), facts };
  expect(targetsTable([report])).toContain("| extra calls ≤ 5 % | 0 of 1 | extra calls: 6 % |  |");
  expect(toMarkdown(report)).toContain("| extra calls | 6 % | extra calls ≤ 5 %: not met |");
  expect(toMarkdown(report)).toContain("| size | 3 kB | none |");
});
