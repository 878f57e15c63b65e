import { generateKeyPairSync, sign as signBytes } from "node:crypto";
import { ConfigurationError, guardSigner, spkiToJwk } from "@signpost/core";
import { createSigner } from "@signpost/core/adapter";
import { describe, expect, test, vi } from "vitest";
import { rowsOf } from "../../src/bench/buckets.ts";
import { countAttempts, guardedSide } from "../../src/bench/guarded.ts";
import { measureLevel, type LevelOptions } from "../../src/bench/measure.ts";
import { planBench } from "../../src/bench/plan.ts";
import { compare } from "../../src/bench/report.ts";
import type { Side } from "../../src/bench/side.ts";
import { Tally } from "../../src/bench/tally.ts";
import { figures, time } from "../../src/bench/units.ts";

function tallyOf(times: readonly number[]): Tally {
  const tally = new Tally();
  for (const ms of times) tally.record(ms);
  return tally;
}

describe("what was measured", () => {
  const times = Array.from({ length: 10_000 }, (_, index) => 5 + ((index * 7919) % 10_000) / 250);

  test("percentiles are those of the sorted samples, to three figures", () => {
    const sorted = times.toSorted((a, b) => a - b);
    const tally = tallyOf(times);
    for (const percent of [50, 90, 99, 99.9]) {
      const exact = sorted[Math.ceil((percent / 100) * sorted.length) - 1] ?? 0;
      expect(Math.abs((tally.percentile(percent) ?? 0) / exact - 1)).toBeLessThan(0.001);
    }
    expect([tally.min, tally.max]).toEqual([sorted[0], sorted.at(-1)]);
  });

  test("a percentile that the slowest call alone would decide is not known", () => {
    expect(tallyOf(times.slice(0, 999)).percentile(99.9)).toBeNull();
    expect(tallyOf(times.slice(0, 1000)).percentile(99.9)).not.toBeNull();
    expect(tallyOf([]).percentile(50)).toBeNull();
    expect(tallyOf([1]).percentile(50)).toBeNull();
    expect(tallyOf([1, 2]).percentile(50)).toBeCloseTo(1, 2);
  });

  test("the distribution has all samples, in steps of 4 %", () => {
    const { buckets } = tallyOf(times);
    expect(buckets.reduce((sum, { count }) => sum + count, 0)).toBe(times.length);
    for (const { fromMs, toMs } of buckets) expect(toMs / fromMs).toBeCloseTo(2 ** (1 / 16), 6);
    for (const { fromMs, toMs, count } of buckets) {
      const inside = times.filter((ms) => ms >= fromMs && ms < toMs).length;
      expect(Math.abs(inside - count)).toBeLessThanOrEqual(1);
    }
  });

  test("the rows of a histogram have all samples, and the slowest percent does not squeeze the others", () => {
    const rows = rowsOf([tallyOf([...times, 4000, 9000]), tallyOf(times)]);
    expect(rows?.counts.map((side) => side.reduce((sum, count) => sum + count, 0))).toEqual([10_002, 10_000]);
    expect(rows?.starts.length).toBeLessThanOrEqual(13);
    expect(rows?.isLastOpen).toBe(true);
    expect(rows?.starts.at(-1)).toBeLessThan(60);
    expect(rows?.counts[1]?.filter((count) => count > 0).length).toBeGreaterThan(6);
    expect(rowsOf([tallyOf([])])).toBeUndefined();
    expect(rowsOf([tallyOf([3, 3]), tallyOf([])])?.counts).toEqual([[2], [0]]);
    expect(rowsOf([tallyOf([3, 3, 3])])?.counts).toEqual([[3]]);
  });

  test("what Signpost adds is the difference and the ratio of each percentile", () => {
    const [ours, bare] = [tallyOf(times.map((ms) => ms * 2)), tallyOf(times)];
    [ours.busyMs, bare.busyMs] = [2000, 1000];
    const comparison = compare([ours, bare]);
    expect(comparison?.ratio["p50"]).toBeCloseTo(2, 2);
    expect(comparison?.addedMs["p99"]).toBeCloseTo(bare.percentile(99) ?? 0, 0);
    expect(comparison?.perSecondRatio).toBe(0.5);
    expect(compare([ours])).toBeUndefined();
  });

  test.each([
    [0.000_25, "0.25 µs"],
    [0.9994, "999 µs"],
    [0.9996, "1.00 ms"],
    [9.996, "10.0 ms"],
    [99.96, "100 ms"],
    [999.4, "999 ms"],
    [999.6, "1.00 s"],
    [-1.5, "-1.50 ms"],
  ])("%d ms is written as %s", (ms, text) => expect(time(ms)).toBe(text));

  test("large figures have separators", () => expect(figures(12_345.6)).toBe("12,346"));
});

describe("a level", () => {
  const never = new AbortController().signal;
  const options = (more: Partial<LevelOptions>): LevelOptions => ({
    concurrency: 2,
    calls: 100,
    durationMs: Infinity,
    signal: never,
    ended: new Promise(() => undefined),
    onCall: () => undefined,
    repeats: () => 0,
    ...more,
  });
  const side = (name: string, sign: () => Promise<void>): Side => ({
    name,
    sign,
    codeOf: (error) => String(error),
    close: async () => undefined,
  });

  test("has as many callers as it says, and as many calls after one of each that is not measured", async () => {
    let [active, most, calls] = [0, 0, 0];
    const counting = side("a", async () => {
      calls += 1;
      active += 1;
      most = Math.max(most, active);
      await Promise.resolve();
      active -= 1;
    });
    const { tallies } = await measureLevel([counting], options({ concurrency: 7, calls: 50 }));
    expect([most, calls, tallies[0]?.signatures]).toEqual([7, 57, 50]);
  });

  test("the sides take turns, and each has all of its calls", async () => {
    const order: string[] = [];
    const sides = ["a", "b"].map((name) =>
      side(name, async () => {
        if (order.at(-1) !== name) order.push(name);
      }),
    );
    const { tallies } = await measureLevel(sides, options({ calls: 101 }));
    expect(tallies.map(({ signatures }) => signatures)).toEqual([101, 101]);
    // The first one changes with each turn.
    expect(order.join("")).toBe("abababab".slice(0, order.length));
    expect(order.length).toBeGreaterThan(3);
  });

  test("of one side has no pause in which its callers wait for each other", async () => {
    const calls = 400;
    let ended = 0;
    let isSlow = false;
    let resolve: () => void = () => undefined;
    // One call ends when the other caller has made all the other calls.
    const promise = new Promise<void>((settle) => (resolve = settle));
    const alone = side("a", async () => {
      if (ended >= 2 && !isSlow) {
        isSlow = true;
        return promise;
      }
      ended += 1;
      if (ended === calls + 1) resolve();
    });
    const { tallies, gaveUp } = await measureLevel([alone], options({ calls }));
    expect([gaveUp, tallies[0]?.signatures]).toEqual([false, calls]);
  });

  test("that was given up makes no call of the other side", async () => {
    const failing = side("a", () => Promise.reject("timeout"));
    let calls = 0;
    const other = side("b", async () => void (calls += 1));
    const { tallies, gaveUp } = await measureLevel([failing, other], options({ calls: 10_000 }));
    expect([gaveUp, tallies[1]?.signatures, tallies[1]?.perSecond]).toEqual([true, 0, 0]);
    // One of each caller that is not measured.
    expect(calls).toBe(2);
  });

  test("counts failures by their code, and gives up when nothing else comes", async () => {
    let calls = 0;
    const failing = side("a", () => Promise.reject((calls += 1) % 3 === 0 ? "throttled" : "timeout"));
    const { tallies, gaveUp } = await measureLevel([failing], options({ calls: 1000 }));
    expect(gaveUp).toBe(true);
    expect(tallies[0]?.failures).toBeLessThan(30);
    expect(Object.keys(tallies[0]?.errors ?? {})).toEqual(["timeout", "throttled"]);
    const often = side("b", () => ((calls += 1) % 2 === 0 ? Promise.resolve() : Promise.reject("timeout")));
    const half = await measureLevel([often], options({ calls: 200 }));
    expect([half.gaveUp, half.tallies[0]?.signatures, half.tallies[0]?.failures]).toEqual([false, 100, 100]);
  });

  test("ends at once when it is stopped, although a call never ends, and keeps what was measured", async () => {
    const controller = new AbortController();
    const ended = new Promise<void>((resolve) => controller.signal.addEventListener("abort", () => resolve()));
    let calls = 0;
    const hanging = side("a", () => {
      calls += 1;
      if (calls <= 10) return Promise.resolve();
      controller.abort();
      return new Promise(() => undefined);
    });
    const { tallies } = await measureLevel([hanging], options({ signal: controller.signal, ended }));
    expect(tallies[0]?.signatures).toBe(8);
    expect(tallies[0]?.errors).toEqual({});
  });

  test("begins no call after it is stopped", async () => {
    const controller = new AbortController();
    let calls = 0;
    const stopping = side("a", async () => {
      calls += 1;
      if (calls === 4) controller.abort();
    });
    const { tallies } = await measureLevel([stopping], options({ concurrency: 1, signal: controller.signal }));
    expect([calls, tallies[0]?.signatures]).toEqual([4, 3]);
  });

  test("ends when not one call ends any more, and counts those that were waited for", async () => {
    let calls = 0;
    const hanging = side("a", () => ((calls += 1) <= 11 ? Promise.resolve() : new Promise(() => undefined)));
    const { tallies, gaveUp } = await measureLevel([hanging], options({ concurrency: 3, patienceMs: 20 }));
    expect([gaveUp, tallies[0]?.signatures, tallies[0]?.errors]).toEqual([true, 8, { no_answer: 3 }]);
  });

  test.each<[end: string, settle: (resolve: () => void, reject: (error: unknown) => void) => void]>([
    ["signs", (resolve) => resolve()],
    ["fails", (_resolve, reject) => reject("timeout")],
  ])("that was given up takes nothing of a call that %s later, and makes no other", async (_end, settle) => {
    let calls = 0;
    const waiting: (() => void)[] = [];
    const hanging = side("a", () => {
      calls += 1;
      if (calls <= 11) return Promise.resolve();
      return new Promise((resolve, reject) => void waiting.push(() => settle(resolve, reject)));
    });
    const { tallies } = await measureLevel([hanging], options({ concurrency: 3, patienceMs: 20 }));
    for (const end of waiting) end();
    await new Promise(setImmediate);
    expect([calls, tallies[0]?.signatures, tallies[0]?.errors]).toEqual([14, 8, { no_answer: 3 }]);
  });

  test("waits half a minute for the call of each caller, and as long for what is measured", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
    const hanging = side("a", () => new Promise(() => undefined));
    let isOver = false;
    const level = measureLevel([hanging], options({ concurrency: 1 })).finally(() => (isOver = true));
    await vi.advanceTimersByTimeAsync(59_999);
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(await level).toMatchObject({ gaveUp: true });
    vi.useRealTimers();
  });

  test("has all callers wait for one turn", async () => {
    const controller = new AbortController();
    const ended = new Promise<void>((resolve) => controller.signal.addEventListener("abort", () => resolve()));
    let calls = 0;
    // Each call takes 2 ms.
    const clock = vi.spyOn(performance, "now").mockImplementation(() => calls * 2);
    const busy = side("a", async () => void (calls += 1));
    const limits = { calls: Infinity, durationMs: 600_000, signal: controller.signal, ended };
    setImmediate(() => controller.abort());
    await measureLevel([busy], options({ concurrency: 100, ...limits }));
    clock.mockRestore();
    // One each that is not measured, those of the first 50 ms, and one more each.
    expect(calls).toBeLessThan(100 + 25 + 100 + 5);
  });

  test("lets timers have their turn between calls that wait for nothing", async () => {
    const controller = new AbortController();
    const ended = new Promise<void>((resolve) => controller.signal.addEventListener("abort", () => resolve()));
    // Without a turn for this timer, the level would never end.
    setTimeout(() => controller.abort(), 1);
    const limits = { calls: Infinity, durationMs: 600_000, signal: controller.signal, ended };
    const { tallies } = await measureLevel([side("a", async () => undefined)], options(limits));
    expect(tallies[0]?.signatures).toBeGreaterThan(0);
  });
});

describe("the plan", () => {
  test.each([
    ["local", {}, undefined, 0],
    ["pkcs11", { raw: true }, undefined, 0],
    ["vault", { calls: 5 }, undefined, 0],
    ["awskms", {}, "AWS KMS", 2 + 3 * 1000 + 21],
    ["gcpkms", { calls: 10, concurrency: [1, 2] }, "Google Cloud KMS", 2 + 20 + 3],
    ["azurekms", { calls: 10, concurrency: [2], raw: true }, "Azure Key Vault", 2 + 2 * (10 + 2)],
    ["awskms", { duration: 2.5, concurrency: [1] }, "AWS KMS", 2 + 2500 + 1],
    ["awskms", { duration: 60, calls: 7, concurrency: [1] }, "AWS KMS", 2 + 7 + 1],
  ] as const)("%s with %o: %s bills up to %d calls", (scheme, flags, biller, calls) => {
    expect(planBench(scheme, flags)).toMatchObject({ biller, billedAtMost: calls });
  });

  test("without a bill, a level ends after 3 seconds", () => {
    expect(planBench("local", {}).limits).toEqual({ calls: Infinity, durationMs: 3000 });
    expect(planBench("local", { calls: 9 }).limits).toEqual({ calls: 9, durationMs: Infinity });
  });
});

test("what is signed through the guard is no signing input of a token, and attempts are counted", async () => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const inputs: string[] = [];
  let fails = true;
  const bare = createSigner({
    uri: "local:",
    publicKey: spkiToJwk(publicKey.export({ type: "spki", format: "der" })),
    signDigest: async (_digest, { signingInput = new Uint8Array() }) => {
      inputs.push(Buffer.from(signingInput).toString());
      fails = !fails;
      if (!fails) throw Object.assign(new Error("away"), { code: "ECONNRESET" });
      return signBytes("sha256", signingInput, { key: privateKey, dsaEncoding: "ieee-p1363" });
    },
    close: async () => undefined,
  });
  const count = countAttempts();
  const side = guardedSide(guardSigner(bare), new AbortController().signal);
  await side.sign().catch(() => undefined);
  await side.sign();
  expect(side.codeOf(new ConfigurationError("a", "expected b"))).toBe("invalid_configuration");
  count.stop();
  expect(count.attempts).toBe(inputs.length);
  expect(new Set(inputs).size).toBe(2);
  for (const input of inputs) expect(input).not.toMatch(/^[\w-]+\.[\w-]*$/);
});
