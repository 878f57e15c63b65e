import { beforeEach, describe, expect, test, vi } from "vitest";
import { SignerError } from "@signpost/core";
import { listenersLeft } from "../src/checks/abort.ts";
import { recovers, whileOn } from "../src/checks/faults.ts";

// How the checks wait for a backend to recover, and for listeners to go. Each pause ends at once, and its time passes on the
// clock of the test.

const clock = vi.hoisted(() => ({ pauses: [] as number[], onPause: undefined as (() => void) | undefined }));

vi.mock("node:timers/promises", async (importOriginal) => ({
  ...(await importOriginal<typeof import("node:timers/promises")>()),
  setTimeout: async (ms: number) => {
    clock.pauses.push(ms);
    clock.onPause?.();
  },
}));

beforeEach(() => {
  clock.pauses = [];
  clock.onPause = undefined;
  const startedAt = 1000;
  vi.spyOn(performance, "now").mockImplementation(
    () => startedAt + clock.pauses.reduce((sum, pause) => sum + pause, 0),
  );
  return () => void vi.restoreAllMocks();
});

const transient = (): SignerError => new SignerError("unavailable", "not now");

describe("what must recover", () => {
  test("is tried every 50 ms, and gives its result", async () => {
    const attempt = vi.fn<() => Promise<string>>();
    attempt.mockRejectedValueOnce(transient()).mockRejectedValueOnce(transient()).mockResolvedValue("signed");
    expect(await recovers(attempt, 1000)).toBe("signed");
    expect([attempt.mock.calls.length, clock.pauses]).toEqual([3, [50, 50]]);
  });

  test("has so much time, and then rejects with its last failure", async () => {
    let count = 0;
    const attempt = async (): Promise<never> => {
      count += 1;
      throw new SignerError("unavailable", `failure ${count}`);
    };
    await expect(recovers(attempt, 100)).rejects.toThrow("failure 3");
    expect(clock.pauses).toEqual([50, 50]);
    count = 0;
    await expect(recovers(attempt, 0)).rejects.toThrow("failure 1");
  });

  test("is not tried again after a failure that is not transient", async () => {
    const attempt = vi.fn<() => Promise<never>>().mockRejectedValue(new SignerError("access_denied", "no"));
    await expect(recovers(attempt, 1000)).rejects.toThrow("no");
    expect([attempt.mock.calls.length, clock.pauses]).toEqual([1, []]);
  });
});

describe("a fault", () => {
  const switched = () => {
    const states: boolean[] = [];
    const toggle = async (on: boolean): Promise<void> => void states.push(on);
    return { states, fault: { fault: "hang", toggle, recoveryMs: 0 } as const };
  };

  test("is on while something runs, and off after it", async () => {
    const { states, fault } = switched();
    expect(await whileOn(fault, async () => [...states])).toEqual([true]);
    expect(states).toEqual([true, false]);
  });

  test("is off after a failure too", async () => {
    const { states, fault } = switched();
    await expect(whileOn(fault, async () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(states).toEqual([true, false]);
  });
});

describe("the listeners of a signal", () => {
  const listening = () => {
    const { signal } = new AbortController();
    const listener = (): void => {};
    signal.addEventListener("abort", listener);
    return { signal, stop: () => signal.removeEventListener("abort", listener) };
  };

  test("are counted at once if there are none", async () => {
    expect(await listenersLeft(new AbortController().signal)).toBe(0);
    expect(clock.pauses).toEqual([]);
  });

  test("may go within two seconds", async () => {
    const { signal, stop } = listening();
    clock.onPause = () => {
      if (clock.pauses.length === 40) stop();
    };
    expect(await listenersLeft(signal)).toBe(0);
    expect(clock.pauses).toEqual(Array.from({ length: 40 }, () => 50));
  });

  test("are left after that", async () => {
    const { signal } = listening();
    expect(await listenersLeft(signal)).toBe(1);
    expect(clock.pauses).toHaveLength(40);
  });
});
