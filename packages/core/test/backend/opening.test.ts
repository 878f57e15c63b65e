import { getEventListeners } from "node:events";
import { describe, expect, test, vi } from "vitest";
import { SignerError } from "@signpost/core";
import { nameOpening, openingBounds, retryOpening, type CallBounds, type OpeningBounds } from "@signpost/core/adapter";
import { thrownBy } from "../support/key-fixtures.ts";

const bounds = (change: Partial<OpeningBounds> = {}): OpeningBounds => ({
  deadlineMs: 60_000,
  attemptTimeoutMs: 60_000,
  maxAttempts: 3,
  signal: undefined,
  ...change,
});
const outage = () => new SignerError("unavailable", "the backend is away");
const pending = () => new SignerError("unavailable", "the key is being made");
const isPending = (error: SignerError) => error.message === pending().message;

/** Runs with a clock of the test's own, moved on until the call settles. */
async function settled(run: () => Promise<unknown>): Promise<{ outcome: unknown; tookMs: number }> {
  vi.useFakeTimers();
  try {
    const startedAt = performance.now();
    let outcome: unknown;
    let done = false;
    const call = run().then(
      (result) => ((outcome = result), (done = true)),
      (error: unknown) => ((outcome = error), (done = true)),
    );
    for (let step = 0; step < 20_000 && !done; step += 1) await vi.advanceTimersByTimeAsync(10);
    await call;
    return { outcome, tookMs: performance.now() - startedAt };
  } finally {
    vi.useRealTimers();
  }
}

const NO_ATTEMPT: CallBounds = { signal: new AbortController().signal, timeoutMs: 1 };
const hangs = ({ signal }: CallBounds = NO_ATTEMPT): Promise<never> =>
  new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
const neverSettles = (): Promise<never> => new Promise(() => {});

describe("openingBounds", () => {
  test.each([
    ["the defaults", {}, { deadlineMs: 5000, attemptTimeoutMs: 2000, maxAttempts: 3 }],
    [
      "the policy",
      { policy: { deadlineMs: 900, attemptTimeoutMs: 300, maxAttempts: 2 } },
      { deadlineMs: 900, attemptTimeoutMs: 300, maxAttempts: 2 },
    ],
    [
      "a deadline of opening, which comes first",
      { policy: { deadlineMs: 900 }, openDeadlineMs: 10_000 },
      { deadlineMs: 10_000, attemptTimeoutMs: 2000, maxAttempts: 3 },
    ],
    ["no guard", { policy: false as const }, { deadlineMs: 5000, attemptTimeoutMs: 5000, maxAttempts: 3 }],
  ])("of %s", (_name, options, expected) => {
    expect(openingBounds(options)).toEqual({ ...expected, signal: undefined });
  });

  test.each([
    [{ openDeadlineMs: 0 }, "openDeadlineMs"],
    [{ openDeadlineMs: Number.NaN }, "openDeadlineMs"],
    [{ policy: { maxAttempts: 0 } }, "policy.maxAttempts"],
    [{ policy: null }, "policy"],
    [{ signal: "soon" }, "signal"],
    [{ policy: { deadlineMS: 5 } }, "policy.deadlineMS"],
  ])("refuse %j", (options, argument) => {
    expect(thrownBy(() => openingBounds(options as object))).toMatchObject({ name: "ConfigurationError", argument });
  });
});

describe("retryOpening", () => {
  test("gives the first result", async () => {
    const attempt = vi.fn<() => Promise<string>>(async () => "key");
    expect(await retryOpening(attempt, bounds())).toBe("key");
    expect(attempt).toHaveBeenCalledTimes(1);
  });

  test("tries again after a transient error, and after no other", async () => {
    const attempt = vi.fn<() => Promise<string>>().mockRejectedValueOnce(outage()).mockResolvedValueOnce("key");
    expect(await settled(() => retryOpening(attempt, bounds()))).toMatchObject({ outcome: "key" });

    const refused = new SignerError("access_denied", "no");
    const refuses = vi.fn<() => Promise<string>>(async () => Promise.reject(refused));
    expect(await settled(() => retryOpening(refuses, bounds()))).toMatchObject({ outcome: refused });
    expect(refuses).toHaveBeenCalledTimes(1);
  });

  test.each([1, 2, 5])("makes at most %d attempts", async (maxAttempts) => {
    const attempt = vi.fn<() => Promise<string>>(async () => Promise.reject(outage()));
    const { outcome } = await settled(() => retryOpening(attempt, bounds({ maxAttempts })));
    expect(outcome).toMatchObject({ code: "unavailable", message: outage().message });
    expect(attempt).toHaveBeenCalledTimes(maxAttempts);
  });

  test("pauses 400 ms, then 800 ms, and never more than a second", async () => {
    const at: number[] = [];
    const attempt = async (): Promise<string> => {
      at.push(performance.now());
      throw outage();
    };
    await settled(() => retryOpening(attempt, bounds({ maxAttempts: 5 })));
    expect(at.map((time) => Math.round(time - (at[0] ?? 0)))).toEqual([0, 400, 1200, 2200, 3200]);
  });

  test("gives up as soon as the next pause would pass the deadline, and does not wait for it", async () => {
    const attempt = vi.fn<() => Promise<string>>(async () => Promise.reject(outage()));
    const { outcome, tookMs } = await settled(() =>
      retryOpening(attempt, bounds({ deadlineMs: 1000, maxAttempts: 9 })),
    );
    expect(outcome).toMatchObject({ message: outage().message });
    expect(attempt).toHaveBeenCalledTimes(2);
    expect(tookMs).toBeLessThan(450);
  });

  test("leaves no listener on the caller's signal, whether it opens, fails or is too late", async () => {
    const { signal } = new AbortController();
    const outcomes: (() => Promise<string>)[] = [
      async () => "key",
      async () => Promise.reject(outage()),
      async () => Promise.reject(new SignerError("access_denied", "no")),
      neverSettles,
    ];
    for (const attempt of outcomes) {
      await settled(() => retryOpening(attempt, bounds({ signal, deadlineMs: 3000 })));
      expect(getEventListeners(signal, "abort")).toEqual([]);
    }
  });

  test("waits for a key that is still being made until the deadline, and counts no attempt for it", async () => {
    const attempt = vi.fn<() => Promise<string>>(async () => Promise.reject(pending()));
    const { outcome, tookMs } = await settled(() => retryOpening(attempt, bounds({ deadlineMs: 8000 }), isPending));
    expect(outcome).toMatchObject({ code: "unavailable", message: pending().message });
    expect(attempt.mock.calls.length).toBeGreaterThan(5);
    expect(tookMs).toBeLessThanOrEqual(8000);
  });

  test("takes a last look shortly before the deadline", async () => {
    const startedAt = Date.now();
    const looks: number[] = [];
    const attempt = async (): Promise<string> => {
      looks.push(Date.now() - startedAt);
      return Promise.reject(pending());
    };
    await settled(() => retryOpening(attempt, bounds({ deadlineMs: 5000 }), isPending));
    expect(looks.map((at) => at - (looks[0] ?? 0))).toEqual([0, 400, 1200, 2200, 3200, 4200, 4800]);
  });

  test.each([
    [4409, 4200],
    [4410, 4210],
  ])(
    "takes that look only if 10 ms are left until then: with %d ms the last one is at %d",
    async (deadlineMs, last) => {
      const looks: number[] = [];
      const attempt = async (): Promise<string> => {
        looks.push(Date.now());
        return Promise.reject(pending());
      };
      await settled(() => retryOpening(attempt, bounds({ deadlineMs }), isPending));
      expect((looks.at(-1) ?? 0) - (looks[0] ?? 0)).toBe(last);
    },
  );

  test.each([
    [1199, 400],
    [1200, 1200],
  ])("gives up at once if the next pause would pass the deadline: with %d ms after %d", async (deadlineMs, endsMs) => {
    const { tookMs } = await settled(() =>
      retryOpening(async () => Promise.reject(outage()), bounds({ deadlineMs, maxAttempts: 9 })),
    );
    expect(Math.round(tookMs)).toBe(endsMs);
  });

  test("goes on to the result once the key is made", async () => {
    const attempt = vi.fn<() => Promise<string>>().mockResolvedValue("key");
    for (let time = 0; time < 6; time += 1) attempt.mockRejectedValueOnce(pending());
    expect(await settled(() => retryOpening(attempt, bounds(), isPending))).toMatchObject({ outcome: "key" });
  });

  test("counts an outage while the key is being made", async () => {
    const attempt = vi.fn<() => Promise<string>>().mockRejectedValue(outage());
    for (let time = 0; time < 4; time += 1) attempt.mockRejectedValueOnce(pending());
    const { outcome } = await settled(() => retryOpening(attempt, bounds({ maxAttempts: 2 }), isPending));
    expect(outcome).toMatchObject({ message: outage().message });
    expect(attempt).toHaveBeenCalledTimes(6);
  });

  test.each([
    ["ends with its signal", hangs],
    ["ignores its signal", neverSettles],
  ])("gives up an attempt that takes too long and %s", async (_name, hanging) => {
    const attempt = vi.fn<(attempt: CallBounds) => Promise<string>>(async () => "key").mockImplementationOnce(hanging);
    const { outcome, tookMs } = await settled(() => retryOpening(attempt, bounds({ attemptTimeoutMs: 1000 })));
    expect(outcome).toBe("key");
    expect(tookMs).toBeGreaterThanOrEqual(1000);
  });

  test("ends at the deadline with a timeout when nothing else is known", async () => {
    const { outcome, tookMs } = await settled(() =>
      retryOpening(neverSettles, bounds({ deadlineMs: 3000, attemptTimeoutMs: 60_000 })),
    );
    expect(outcome).toMatchObject({ code: "timeout", message: expect.stringContaining("3000 ms") });
    expect(tookMs).toBeLessThan(3100);
  });

  test("ends at the deadline with the failure before the attempt that was cut short", async () => {
    const attempt = vi.fn<() => Promise<string>>(neverSettles).mockRejectedValueOnce(outage());
    const { outcome } = await settled(() => retryOpening(attempt, bounds({ deadlineMs: 3000 })));
    expect(outcome).toMatchObject({ code: "unavailable", message: outage().message });
  });

  test("passes each attempt its time limit", async () => {
    const told: number[] = [];
    const attempt = async ({ timeoutMs }: CallBounds): Promise<never> => {
      told.push(timeoutMs);
      throw outage();
    };
    await settled(() => retryOpening(attempt, bounds({ deadlineMs: 1000, attemptTimeoutMs: 950 })));
    expect(told[0]).toBe(950);
    expect(told.at(-1)).toBeLessThan(950);
  });

  test.each(["in an attempt", "in a pause"])("ends with the caller's signal %s", async (place) => {
    const controller = new AbortController();
    const reason = new Error("shutting down");
    const attempt = async (): Promise<string> => {
      setTimeout(() => controller.abort(reason), 50);
      return place === "in a pause" ? Promise.reject(outage()) : neverSettles();
    };
    const { outcome, tookMs } = await settled(() => retryOpening(attempt, bounds({ signal: controller.signal })));
    expect(outcome).toMatchObject({ name: "SignerError", code: "aborted", cause: reason });
    expect(tookMs).toBeLessThan(100);
  });

  test("makes no attempt for a caller that has aborted", async () => {
    const attempt = vi.fn<() => Promise<string>>(async () => "key");
    const call = retryOpening(attempt, bounds({ signal: AbortSignal.abort("gone") }));
    await expect(call).rejects.toMatchObject({ code: "aborted", cause: "gone" });
    expect(attempt).not.toHaveBeenCalled();
  });

  test("passes on an error that is not a SignerError", async () => {
    const error = new TypeError("a fault of the adapter");
    await expect(retryOpening(async () => Promise.reject(error), bounds())).rejects.toBe(error);
  });
});

describe("nameOpening", () => {
  const URI = "example:///op";
  const cause = new Error("the reason");

  test.each<[what: string, error: unknown, message: string, uri: string | undefined]>([
    ["a time limit, which names no key", new SignerError("timeout", "late", { cause }), `${URI}: late`, URI],
    [
      "an error of the backend, which names it",
      new SignerError("unavailable", "op is away", { cause }),
      "op is away",
      URI,
    ],
    [
      "a time limit of a version that is named already",
      new SignerError("timeout", "v1: late", { cause, uri: "example:///op/v1" }),
      "v1: late",
      "example:///op/v1",
    ],
    ["anything else", new TypeError("a mistake", { cause }), "a mistake", undefined],
  ])("%s", (_what, error, message, uri) => {
    const named = nameOpening(error, URI);
    expect(named).toMatchObject({ message, cause });
    expect(Reflect.get(Object(named), "uri")).toBe(uri);
  });
});
