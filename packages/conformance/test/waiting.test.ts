import { getEventListeners } from "node:events";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { SignerError } from "@signpost/core";
import type { Signer } from "@signpost/core";
import { abortChecks, listenersLeft } from "../src/checks/abort.ts";
import { closeChecks } from "../src/checks/close.ts";
import { becomesReady, recovers, whileOn } from "../src/checks/faults.ts";
import { signatureChecks } from "../src/checks/signature.ts";
import type { CheckDefinition } from "../src/harness.ts";
import { createTestKey } from "./reference.ts";

// How the checks wait for a backend to recover, and for listeners to go. Each pause ends at once, and its time passes on the
// clock of the test.

const clock = vi.hoisted(() => ({ pauses: [] as number[], ticks: 0, onPause: undefined as (() => void) | undefined }));

vi.mock("node:timers/promises", async (importOriginal) => ({
  ...(await importOriginal<typeof import("node:timers/promises")>()),
  setTimeout: async (ms: number) => {
    clock.pauses.push(ms);
    clock.onPause?.();
  },
  setImmediate: async () => void (clock.ticks += 1),
}));

beforeEach(() => {
  clock.pauses = [];
  clock.ticks = 0;
  clock.onPause = undefined;
  const startedAt = 1000;
  vi.spyOn(performance, "now").mockImplementation(
    () => startedAt + clock.pauses.reduce((sum, pause) => sum + pause, 0),
  );
  return () => void vi.restoreAllMocks();
});

const transient = (): SignerError => new SignerError("unavailable", "not now");

describe("a signer whose health is to be ready", () => {
  const signerWith = (status: () => string): Signer =>
    ({ health: () => ({ status: status() }), [Symbol.asyncDispose]: async () => undefined }) as unknown as Signer;

  test.each([
    ["signs until it is", 3, 1000],
    ["signs as long as it may take", 2, 100],
    ["signs nothing more if there is no time for that", 0, 0],
  ])("%s", async (_name, signatures, recoveryMs) => {
    const sign = vi.fn<() => Promise<void>>().mockResolvedValue(undefined);
    await becomesReady(
      signerWith(() => (sign.mock.calls.length < 3 ? "degraded" : "ready")),
      sign,
      recoveryMs,
    );
    expect(sign).toHaveBeenCalledTimes(signatures);
  });
});

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

describe("the moment of a check", () => {
  const waited = () => ({ pauses: [...clock.pauses], ticks: clock.ticks });

  /** Runs a check with a signer that signs at once. */
  async function runWith(
    checks: readonly CheckDefinition[],
    name: string,
    change: (signer: Signer) => Partial<Signer>,
  ): Promise<void> {
    const key = createTestKey();
    const signer: Signer = {
      uri: "quick:key",
      publicKey: key.publicKey,
      sign: async (digest) => key.sign(digest),
      close: async () => undefined,
    };
    const check = checks.find((one) => one.name.startsWith(name));
    if (check === undefined) throw new Error(`there is no check named ${name}`);
    await check.run({ form: "bare", secrets: [], open: async () => ({ ...signer, ...change(signer) }) });
  }

  test.each([
    ["in the same tick as the calls", { pauses: [], ticks: 0 }],
    ["one tick after the calls", { pauses: [], ticks: 1 }],
    ["5 ms after the calls", { pauses: [5], ticks: 0 }],
  ])("closes a signer %s", async (moment, expected) => {
    const closings: unknown[] = [];
    await runWith(closeChecks, `closed ${moment}`, () => ({ close: async () => void closings.push(waited()) }));
    expect(closings[0]).toEqual(expected);
  });

  test("aborts calls in the same tick, one later, and 3 and 20 ms later", async () => {
    const aborts: unknown[] = [];
    await runWith(abortChecks, "an abort during a call", ({ sign }) => ({
      sign: async (digest, options) => {
        const { signal } = options ?? {};
        if (signal !== undefined && getEventListeners(signal, "abort").length === 0)
          signal.addEventListener("abort", () => aborts.push(waited()));
        return sign(digest);
      },
    }));
    expect(aborts).toEqual([
      { pauses: [], ticks: 0 },
      { pauses: [], ticks: 1 },
      { pauses: [3], ticks: 1 },
      { pauses: [3, 20], ticks: 1 },
    ]);
  });

  test("lets timers run between the signatures of one that answers at once", async () => {
    let signatures = 0;
    await runWith(signatureChecks, "r and s with leading zero bytes", ({ sign }) => ({
      sign: async (digest) => {
        signatures += 1;
        return sign(digest);
      },
    }));
    expect(clock.ticks).toBe(signatures);
  });
});
