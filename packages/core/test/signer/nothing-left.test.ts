import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createLimiter, failoverSigner, guardSigner, SignerError, type GuardPolicy, type Signer } from "@signpost/core";
import { retryOpening, untilAborted, withinDeadline } from "@signpost/core/adapter";
import {
  fails,
  hangsUntilAborted,
  scriptedSigner,
  signs,
  signsAfter,
  type Behaviour,
} from "../support/scripted-signer.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] }));
afterEach(() => void vi.useRealTimers());

const DIGEST = new Uint8Array(32).fill(7);
const outage = fails(() => new SignerError("unavailable", "down"));
const refusal = fails(() => new SignerError("access_denied", "no"));

/** What is left after a call: timers, and listeners on the caller's signal. */
function leftBy(signal: AbortSignal): { readonly timers: number; readonly listeners: number } {
  return { timers: vi.getTimerCount(), listeners: getEventListeners(signal, "abort").length };
}
const NOTHING = { timers: 0, listeners: 0 };

/** Settles the calls, and lets the backend settle too, as its signal asks it to. */
async function settled(calls: readonly Promise<unknown>[], ms: number): Promise<void> {
  const all = Promise.allSettled(calls);
  await vi.advanceTimersByTimeAsync(ms);
  await all;
  await vi.advanceTimersByTimeAsync(0);
}

const POLICY: GuardPolicy = { deadlineMs: 5000, attemptTimeoutMs: 1000, maxAttempts: 3, concurrency: 1, maxQueue: 8 };

describe("a guarded call leaves no timer and no listener", () => {
  test.each<[how: string, behaviours: readonly Behaviour[], policy: GuardPolicy, ms: number]>([
    ["that signs at once", [signs], {}, 0],
    ["that signs later", [signsAfter(500)], {}, 500],
    ["that is refused", [refusal], {}, 0],
    ["that fails in each attempt", [outage], {}, 5000],
    ["that signs in the second attempt", [outage, signs], {}, 5000],
    ["whose attempts take too long", [hangsUntilAborted], {}, 5000],
    ["whose deadline comes first", [hangsUntilAborted], { deadlineMs: 300 }, 300],
    ["whose pause is cut by the deadline", [outage], { deadlineMs: 60, maxAttempts: 100 }, 100],
    ["that is hedged", [signsAfter(900), signs], { hedgeAfterMs: 50 }, 1000],
  ])("%s", async (_how, behaviours, policy, ms) => {
    const guarded = guardSigner(scriptedSigner(...behaviours).signer, { ...POLICY, ...policy });
    const { signal } = new AbortController();
    await settled([guarded.sign(DIGEST, { signal })], ms);
    expect(leftBy(signal)).toEqual(NOTHING);
  });

  test.each<[how: string, behaviour: Behaviour, policy: GuardPolicy]>([
    ["during an attempt", hangsUntilAborted, {}],
    ["during a pause", outage, { maxAttempts: 100, deadlineMs: 60_000 }],
    ["while a hedge is due", hangsUntilAborted, { hedgeAfterMs: 900 }],
  ])("that its caller ends %s", async (_how, behaviour, policy) => {
    const guarded = guardSigner(scriptedSigner(behaviour).signer, { ...POLICY, ...policy });
    const caller = new AbortController();
    const call = guarded.sign(DIGEST, { signal: caller.signal }).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(20);
    caller.abort(new Error("gone"));
    await settled([call], 0);
    expect(await call).toMatchObject({ code: "aborted" });
    expect(leftBy(caller.signal)).toEqual(NOTHING);
  });

  test.each<[how: string, end: (caller: AbortController, guarded: { close(): Promise<void> }) => unknown]>([
    ["its caller ends", (caller) => caller.abort(new Error("gone"))],
    ["ends with its deadline", () => vi.advanceTimersByTimeAsync(5000)],
    ["ends with the signer", (_caller, guarded) => void guarded.close()],
  ])("that waits for a slot, and %s", async (_how, end) => {
    const guarded = guardSigner(scriptedSigner(hangsUntilAborted).signer, { ...POLICY, attemptTimeoutMs: 6000 });
    const [first, waiting] = [new AbortController(), new AbortController()];
    const calls = [guarded.sign(DIGEST, { signal: first.signal }), guarded.sign(DIGEST, { signal: waiting.signal })];
    const ended = calls.map((call) => call.catch(() => undefined));
    await vi.advanceTimersByTimeAsync(10);
    await end(waiting, guarded);
    await vi.advanceTimersByTimeAsync(0);
    expect(getEventListeners(waiting.signal, "abort")).toEqual([]);
    first.abort(new Error("gone"));
    await settled(ended, 0);
    expect([leftBy(first.signal), leftBy(waiting.signal)]).toEqual([NOTHING, NOTHING]);
  });

  test("that waits for a permit, and its caller ends", async () => {
    const limiter = createLimiter({ rate: { permits: 1, perSeconds: 60 }, maxQueue: 8 });
    const guarded = guardSigner(scriptedSigner(signs).signer, { deadlineMs: 100_000, attemptTimeoutMs: 1000, limiter });
    const caller = new AbortController();
    await guarded.sign(DIGEST);
    const call = guarded.sign(DIGEST, { signal: caller.signal }).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(10);
    expect(vi.getTimerCount()).toBeGreaterThan(0);
    caller.abort(new Error("gone"));
    await settled([call], 0);
    expect(leftBy(caller.signal)).toEqual(NOTHING);
  });
});

describe("a call of a signer without a guard leaves nothing", () => {
  test.each<[what: string, make: (behaviour: Behaviour) => Signer]>([
    ["of an adapter", (behaviour) => scriptedSigner(behaviour).signer],
    ["of a failover", (behaviour) => failoverSigner([scriptedSigner(behaviour).signer])],
  ])("%s", async (_what, make) => {
    for (const behaviour of [signs, outage, refusal]) {
      const { signal } = new AbortController();
      await settled([make(behaviour).sign(DIGEST, { signal })], 0);
      expect(leftBy(signal)).toEqual(NOTHING);
    }
  });
});

describe("the tools of an adapter leave nothing", () => {
  const never = (): Promise<never> => new Promise(() => {});
  const outcomes: readonly [how: string, run: (signal: AbortSignal) => Promise<unknown>, ms: number][] = [
    ["withinDeadline, in time", (signal) => withinDeadline(async () => "x", { deadlineMs: 1000, signal }), 0],
    ["withinDeadline, too late", (signal) => withinDeadline(never, { deadlineMs: 1000, signal }), 1000],
    ["untilAborted, in time", (signal) => untilAborted(Promise.resolve("x"), signal), 0],
    ["untilAborted, failed", (signal) => untilAborted(Promise.reject(new Error("x")), signal), 0],
    [
      "retryOpening, in the second attempt",
      (signal) => {
        const attempt = vi.fn<() => Promise<string>>().mockResolvedValue("key");
        attempt.mockRejectedValueOnce(new SignerError("unavailable", "down"));
        return retryOpening(attempt, { deadlineMs: 5000, attemptTimeoutMs: 1000, maxAttempts: 3, signal });
      },
      5000,
    ],
    [
      "retryOpening, too late",
      (signal) => retryOpening(never, { deadlineMs: 5000, attemptTimeoutMs: 1000, maxAttempts: 9, signal }),
      5000,
    ],
  ];
  test.each(outcomes)("%s", async (_how, run, ms) => {
    const { signal } = new AbortController();
    await settled([run(signal)], ms);
    expect(leftBy(signal)).toEqual(NOTHING);
  });

  test.each<[how: string, run: (signal: AbortSignal) => Promise<unknown>]>([
    ["withinDeadline", (signal) => withinDeadline(never, { deadlineMs: 1000, signal })],
    ["untilAborted", (signal) => untilAborted(never(), signal)],
    [
      "retryOpening, in a pause",
      (signal) =>
        retryOpening(async () => Promise.reject(new SignerError("unavailable", "down")), {
          deadlineMs: 5000,
          attemptTimeoutMs: 1000,
          maxAttempts: 9,
          signal,
        }),
    ],
  ])("%s, that its caller ends", async (_how, run) => {
    const caller = new AbortController();
    const call = run(caller.signal).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(20);
    caller.abort(new Error("gone"));
    await settled([call], 0);
    expect(leftBy(caller.signal)).toEqual(NOTHING);
  });
});
