import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createReloader, type Outcome, type Reloader } from "../../src/serve/live/reloader.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

interface Rig {
  readonly reloader: Reloader;
  /** The loads so far: whether each read its keys again. */
  readonly loads: boolean[];
  readonly outcomes: Outcome[];
  /** Ends the load that runs. */
  readonly end: (error?: Error) => Promise<void>;
  readonly stop: () => void;
}

function rig(): Rig {
  const ending = new AbortController();
  const [loads, outcomes]: [boolean[], Outcome[]] = [[], []];
  let settle: (error?: Error) => void = () => undefined;
  const reloader = createReloader({
    load: (again) => {
      loads.push(again);
      return new Promise((resolve, reject) => {
        settle = (error) => (error === undefined ? resolve() : reject(error));
      });
    },
    onOutcome: (outcome) => void outcomes.push(outcome),
    retryAfterMs: (error, failures) => ((error as Error).message === "away" ? failures * 1000 : undefined),
    signal: ending.signal,
  });
  const end = async (error?: Error): Promise<void> => {
    settle(error);
    await turn();
  };
  return { reloader, loads, outcomes, end, stop: () => ending.abort() };
}

test("requests during a load are one, and a request to read keys again is not lost among them", async () => {
  const { reloader, loads, outcomes, end } = rig();
  reloader.request("change");
  reloader.request("signal");
  reloader.request("change");
  expect(loads).toEqual([false]);
  await end();
  expect(loads).toEqual([false, true]);
  await end();
  reloader.request("change");
  await end();
  expect(loads).toEqual([false, true, false]);
  expect(outcomes.map(({ reason }) => reason)).toEqual(["change", "change", "change"]);
});

test("what may pass is tried again after longer and longer pauses, with the same task", async () => {
  const { reloader, loads, outcomes, end } = rig();
  reloader.request("signal");
  await end(new Error("away"));
  vi.advanceTimersByTime(999);
  expect(loads).toEqual([true]);
  vi.advanceTimersByTime(1);
  await end(new Error("away"));
  vi.advanceTimersByTime(2000);
  await end();
  expect(loads).toEqual([true, true, true]);
  expect(outcomes.map(({ reason, retryMs }) => [reason, retryMs])).toEqual([
    ["signal", 1000],
    ["retry", 2000],
    ["retry", undefined],
  ]);
  vi.advanceTimersByTime(100_000);
  expect(loads).toHaveLength(3);
});

test("a change does not wait for the pause, and replaces it", async () => {
  const { reloader, loads, end } = rig();
  reloader.request("start");
  await end(new Error("away"));
  reloader.request("change");
  await end();
  vi.advanceTimersByTime(100_000);
  expect(loads).toHaveLength(2);
});

test("what does not pass is not tried again", async () => {
  const { reloader, loads, outcomes, end } = rig();
  reloader.request("change");
  await end(new Error("a mistake"));
  vi.advanceTimersByTime(100_000);
  expect(loads).toHaveLength(1);
  expect(outcomes[0]?.failure?.code).toBe("internal");
});

test("after the end nothing is loaded or told", async () => {
  const { reloader, loads, outcomes, end, stop } = rig();
  reloader.request("start");
  await end(new Error("away"));
  reloader.request("change");
  stop();
  await end(new Error("aborted"));
  vi.advanceTimersByTime(100_000);
  expect([loads.length, outcomes.length]).toEqual([2, 1]);
});
