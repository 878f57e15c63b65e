import { once } from "node:events";
import { availableParallelism } from "node:os";
import { MessageChannel } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Computing } from "../src/pool/computing.ts";
import { HangWatch } from "../src/pool/hang-watch.ts";

describe("threads that sign at the same time", () => {
  const FEW = Math.max(1, availableParallelism() - 1);

  /** After signatures that slept, or did not. */
  function after(...slept: boolean[]): number {
    const computing = new Computing();
    for (const one of slept) computing.saw(one);
    return computing.threads;
  }

  test.each([
    ["nothing is known", []],
    ["one signature does not prove that the module computes", [false]],
    ["a module that waits for its HSM has no limit", [true, true, true]],
    ["a module that sleeps again and again has none", [false, false, true, true, true, true]],
  ])("%s", (_, slept) => {
    expect(after(...slept)).toBe(Number.POSITIVE_INFINITY);
  });

  test.each([
    ["a module that computes leaves a processor to the caller", [false, false]],
    ["it may sleep now and then", [false, false, true, true, true, false, true]],
    ["or only compute later", [true, true, true, true, false, false]],
  ])("%s", (_, slept) => {
    expect(after(...slept)).toBe(FEW);
  });
});

describe("the watch for hanging calls", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  function watch(): { readonly watched: HangWatch; readonly onHang: () => void } {
    const onHang = vi.fn<() => void>();
    return { watched: new HangWatch(onHang), onHang };
  }

  test("reports a call at its limit, once", () => {
    const { watched, onHang } = watch();
    watched.begin(1_000);
    vi.advanceTimersByTime(999);
    expect(onHang).not.toHaveBeenCalled();
    vi.advanceTimersByTime(5_000);
    expect(onHang).toHaveBeenCalledTimes(1);
  });

  test("gives each call its own time with one timer", () => {
    const { watched, onHang } = watch();
    for (let call = 0; call < 10; call += 1) {
      watched.begin(1_000);
      vi.advanceTimersByTime(900);
      expect(vi.getTimerCount()).toBe(1);
    }
    expect(onHang).not.toHaveBeenCalled();
    vi.advanceTimersByTime(100);
    expect(onHang).toHaveBeenCalledTimes(1);
  });

  test("knows a shorter limit than the one before", () => {
    const { watched, onHang } = watch();
    watched.begin(10_000);
    watched.begin(1_000);
    vi.advanceTimersByTime(1_000);
    expect(onHang).toHaveBeenCalledTimes(1);
  });

  test("reports nothing once no call runs", () => {
    const { watched, onHang } = watch();
    watched.begin(1_000);
    watched.end();
    vi.advanceTimersByTime(5_000);
    expect(onHang).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });
});

test("a call whose answer could not be read in time, because the event loop was busy, does not hang", async () => {
  const onHang = vi.fn<() => void>();
  const watched = new HangWatch(onHang);
  const { port1, port2 } = new MessageChannel();
  const answered = once(port1, "message").then(() => watched.end());
  // From a turn's end, so that the timer comes before the answer.
  await new Promise((resolve) => setImmediate(resolve));
  watched.begin(10);
  port2.postMessage("answer");
  const busyUntil = performance.now() + 50;
  while (performance.now() < busyUntil);
  await answered;
  await new Promise((resolve) => setTimeout(resolve, 20));
  port1.close();
  expect(onHang).not.toHaveBeenCalled();
});
