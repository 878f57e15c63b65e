import { AsyncLocalStorage } from "node:async_hooks";
import { verify } from "node:crypto";
import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  ConfigurationError,
  createLimiter,
  guardSigner,
  SignerError,
  type GuardPolicy,
  type Limiter,
} from "@signpost/core";
import { failure } from "../support/failure.ts";
import { DIGEST, eventsOf, hedged, INPUT, passes, signsIn } from "../support/hedged.ts";
import { type Behaviour, fails, hangs, hangsUntilAborted, scriptedSigner, signs } from "../support/scripted-signer.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const unavailable = () => new SignerError("unavailable", "gone");
const refused = () => new SignerError("access_denied", "no");
const failsIn =
  (ms: number, error: () => SignerError): Behaviour =>
  async () => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    throw error();
  };

describe("a hedge", () => {
  test("starts when there is no answer in time, and its signature wins", async () => {
    const { guard, later, publicKey } = await hedged({}, hangsUntilAborted, signsIn(40));
    const signature = guard.sign(DIGEST);
    await passes(99);
    expect(later()).toHaveLength(1);
    await passes(1);
    expect(later()).toHaveLength(2);
    await passes(40);
    expect(verify("sha256", INPUT, { key: publicKey, dsaEncoding: "ieee-p1363" }, await signature)).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("that wins aborts the first attempt, for a reason that is not transient", async () => {
    const { guard, later } = await hedged({}, hangsUntilAborted, signsIn(40));
    const signature = guard.sign(DIGEST);
    await passes(140);
    await signature;
    const [first, second] = later();
    expect(first?.signal.reason).toMatchObject({ code: "aborted", transient: false });
    expect(second?.signal.aborted).toBe(false);
    expect(guard.health()).toMatchObject({ status: "ready" });
  });

  test("that loses is aborted", async () => {
    const { guard, later } = await hedged({}, signsIn(120), hangsUntilAborted);
    const signature = guard.sign(DIGEST);
    await passes(120);
    await signature;
    const [first, second] = later();
    expect(first?.signal.aborted).toBe(false);
    expect(second?.signal.reason).toMatchObject({ code: "aborted", transient: false });
    expect(guard.health()).toMatchObject({ status: "ready" });
  });

  test("signs the same digest and signing input", async () => {
    const { guard, later } = await hedged({}, hangsUntilAborted, signs);
    const signature = guard.sign(DIGEST, { signingInput: INPUT });
    await passes(100);
    await signature;
    expect(later().map(({ digest, signingInput }) => [Buffer.from(digest), Buffer.from(signingInput ?? [])])).toEqual([
      [DIGEST, INPUT],
      [DIGEST, INPUT],
    ]);
  });

  test("is not sent if the answer comes in time, or if there is no policy for it", async () => {
    const quick = await hedged({ saved: 2 }, signsIn(99));
    const off = await hedged({ saved: 2, hedgeAfterMs: undefined }, signsIn(1000));
    const signatures = [quick.guard.sign(DIGEST), off.guard.sign(DIGEST)];
    await passes(1000);
    await Promise.all(signatures);
    expect(quick.later()).toHaveLength(1);
    expect(off.later()).toHaveLength(1);
  });

  test("is sent once a call, even if its second attempt is late too", async () => {
    const { guard, later } = await hedged(
      { saved: 5, attemptTimeoutMs: 500 },
      hangsUntilAborted,
      hangsUntilAborted,
      signsIn(300),
      signs,
    );
    const signature = guard.sign(DIGEST);
    // The first attempt and its hedge time out, and the second attempt starts.
    await passes(640);
    expect(later()).toHaveLength(3);
    // This would allow another hedge.
    await guard.sign(DIGEST);
    await passes(300);
    await signature;
    expect(later()).toHaveLength(4);
  });

  test("is sent for a second attempt too", async () => {
    const { guard, later } = await hedged({ saved: 2 }, fails(unavailable), hangsUntilAborted, signs);
    const busy = guard.sign(DIGEST);
    await passes(50);
    expect(later()).toHaveLength(2);
    // The failure has to be over: the answer to another call shows it.
    const other = guard.sign(DIGEST);
    await passes(120);
    await Promise.all([busy, other]);
    expect(later()).toHaveLength(4);
  });

  test("is told in the event, and counted in the notes of the health", async () => {
    const { guard } = await hedged(
      { saved: 3 },
      hangsUntilAborted,
      signsIn(40),
      signsIn(120),
      hangsUntilAborted,
      signs,
    );
    const sign = async (): Promise<void> => {
      const signature = guard.sign(DIGEST);
      await passes(200);
      await signature;
    };
    const events = await eventsOf(async () => {
      for (let call = 0; call < 3; call += 1) await sign();
    });
    expect(events).toMatchObject([
      { attempts: 1, hedges: 1, hedgeWon: true, backendMs: 140 },
      { attempts: 1, hedges: 1, hedgeWon: false, backendMs: 120 },
      { attempts: 1 },
    ]);
    expect(events[2]).not.toHaveProperty("hedges");
    expect(events[2]).not.toHaveProperty("hedgeWon");
    expect(guard.health().notes).toEqual(["hedged 2 of 63 calls; the hedge answered first in 1"]);
  });

  test("is sent in the async context of its caller, even if the answer to another call started it", async () => {
    vi.useRealTimers();
    const request = new AsyncLocalStorage<string>();
    const stores: (string | undefined)[] = [];
    const remembers =
      (behaviour: Behaviour): Behaviour =>
      (call) => {
        stores.push(request.getStore());
        return behaviour(call);
      };
    const { guard } = await hedged({ hedgeAfterMs: 20 }, ...[hangsUntilAborted, signsIn(80), signs].map(remembers));
    await Promise.all(["late", "other"].map((name) => request.run(name, () => guard.sign(DIGEST))));
    expect(stores).toEqual(["late", "other", "late"]);
  });

  test("is not needed after a busy event loop, if the answer is already there", async () => {
    vi.useRealTimers();
    const { port1, port2 } = new MessageChannel();
    const overPort: Behaviour = (call) =>
      new Promise((resolve) => {
        port2.once("message", () => resolve(call.sign()));
        setImmediate(() => {
          port1.postMessage("answer");
          const until = performance.now() + 60;
          while (performance.now() < until);
        });
      });
    const { guard, later } = await hedged({ hedgeAfterMs: 30 }, overPort, signs);
    await guard.sign(DIGEST);
    port1.close();
    expect(later()).toHaveLength(1);
  });
});

describe("an error, with a hedge", () => {
  test("of the first attempt leaves the call to the hedge", async () => {
    const { guard, later } = await hedged({}, failsIn(110, unavailable), signsIn(40));
    const signature = guard.sign(DIGEST);
    await passes(140);
    expect(await signature).toHaveLength(64);
    expect(later()).toHaveLength(2);
  });

  test("of the hedge leaves the call to the first attempt", async () => {
    const { guard, later } = await hedged({}, signsIn(200), fails(unavailable));
    const signature = guard.sign(DIGEST);
    await passes(200);
    expect(await signature).toHaveLength(64);
    expect(later()).toHaveLength(2);
  });

  test("of both leads to the next attempt, with the pause for the later error", async () => {
    const throttled = () => new SignerError("throttled", "slow down");
    const { guard, later } = await hedged({}, failsIn(120, unavailable), failsIn(50, throttled), signs);
    const events = await eventsOf(async () => {
      const signature = guard.sign(DIGEST);
      // A throttled backend gets at least 50 ms, and an unavailable one at most 25.
      await passes(150 + 49);
      expect(later()).toHaveLength(2);
      await passes(51);
      await signature;
    });
    expect(later()).toHaveLength(3);
    expect(events).toMatchObject([{ attempts: 2, hedges: 1, hedgeWon: false }]);
  });

  test("of both rejects with the later one, and counts as one attempt of maxAttempts", async () => {
    const { guard } = await hedged(
      { maxAttempts: 1 },
      failsIn(150, () => new SignerError("throttled", "slow down")),
      failsIn(20, unavailable),
    );
    const error = failure(guard.sign(DIGEST));
    await passes(150);
    expect(await error).toMatchObject({ code: "throttled", uri: guard.uri });
    expect(guard.health()).toMatchObject({ status: "degraded", lastCode: "throttled" });
  });

  test.each([
    ["the first attempt", failsIn(120, refused), hangsUntilAborted],
    ["the hedge", hangsUntilAborted, failsIn(20, refused)],
  ])("of %s that is not transient ends the call, and aborts the other", async (name, ...behaviours) => {
    const { guard, later } = await hedged({}, ...behaviours);
    const error = failure(guard.sign(DIGEST));
    await passes(120);
    expect(await error).toMatchObject({ code: "access_denied" });
    expect(later()).toHaveLength(2);
    expect(later()[name === "the hedge" ? 0 : 1]?.signal.reason).toMatchObject({ code: "aborted" });
    expect(guard.health()).toMatchObject({ status: "down", lastCode: "access_denied" });
  });

  test("that is a malformed signature ends the call as in any attempt", async () => {
    const { guard } = await hedged({}, hangsUntilAborted, () => new Uint8Array(64));
    const error = failure(guard.sign(DIGEST));
    await passes(100);
    expect(await error).toMatchObject({ code: "bad_signature" });
  });

  test("of a signer that throws instead of rejecting is an error like any other", async () => {
    const { guard } = await hedged({}, signsIn(200), () => {
      throw new TypeError("broken");
    });
    const error = failure(guard.sign(DIGEST));
    await passes(200);
    expect(await error).toMatchObject({ code: "integrity", transient: false });
  });
});

describe("the end of a call with a hedge", () => {
  test("by its caller aborts both attempts, and does not change the health", async () => {
    const { guard, later } = await hedged({}, hangsUntilAborted, hangsUntilAborted);
    const controller = new AbortController();
    const error = failure(guard.sign(DIGEST, { signal: controller.signal }));
    await passes(110);
    controller.abort("enough");
    expect(await error).toMatchObject({ code: "aborted", cause: "enough" });
    expect(later().map(({ signal }) => signal.aborted)).toEqual([true, true]);
    expect(guard.health()).toMatchObject({ status: "ready" });
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("by its deadline aborts both, and has the error of the failed attempt as its cause", async () => {
    const { guard, later } = await hedged({ deadlineMs: 300 }, failsIn(150, unavailable), hangsUntilAborted);
    const error = failure(guard.sign(DIGEST));
    await passes(300);
    expect(await error).toMatchObject({ code: "timeout", cause: { code: "unavailable" } });
    expect(later()[1]?.signal.reason).toMatchObject({ code: "timeout" });
    expect(guard.health()).toMatchObject({ status: "degraded", lastCode: "timeout" });
    expect(vi.getTimerCount()).toBe(0);
  });

  test("by its deadline has no cause if neither attempt had failed", async () => {
    const { guard } = await hedged({ deadlineMs: 300 }, hangsUntilAborted, hangsUntilAborted);
    const error = failure(guard.sign(DIGEST));
    await passes(300);
    expect(await error).toMatchObject({ code: "timeout", message: expect.stringContaining("deadline of 300 ms") });
    expect(await error).not.toHaveProperty("cause");
  });

  test("gives each attempt its own timeout", async () => {
    const { guard, later } = await hedged(
      { attemptTimeoutMs: 200, maxAttempts: 1 },
      hangsUntilAborted,
      hangsUntilAborted,
    );
    const error = failure(guard.sign(DIGEST));
    await passes(299);
    expect(later().map(({ signal }) => signal.aborted)).toEqual([true, false]);
    await passes(1);
    expect(await error).toMatchObject({ code: "timeout", message: expect.stringContaining("200 ms") });
  });

  test("lets close() wait for the call and for the attempt that lost", async () => {
    const { guard, closed } = await hedged({}, hangs, signsIn(40));
    const signature = guard.sign(DIGEST);
    await passes(110);
    const closing = guard.close();
    await passes(30);
    expect(await signature).toHaveLength(64);
    expect(closed()).toBe(0);
    // The backend ignores its signal, so its call is abandoned after a second.
    await passes(1000);
    await closing;
    expect(closed()).toBe(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("is not left waiting if it comes while the attempt waits for its hedge", async () => {
    const { guard, later } = await hedged(
      { concurrency: 4, attemptTimeoutMs: 500, deadlineMs: 600 },
      hangsUntilAborted,
    );
    const errors = [failure(guard.sign(DIGEST)), failure(guard.sign(DIGEST))];
    await passes(600);
    for (const error of errors) expect(await error).toMatchObject({ code: "timeout" });
    await passes(2000);
    expect(later().every(({ signal }) => signal.aborted)).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("the slot of a hedge", () => {
  test("is its own, and is free when its backend call has settled", async () => {
    const limiter = createLimiter({ concurrency: 3, maxQueue: 10 });
    const { guard } = await hedged({ limiter }, signsIn(150), hangs);
    const signature = guard.sign(DIGEST);
    await passes(100);
    expect(limiter.active).toBe(2);
    await passes(50);
    await signature;
    expect(limiter.active).toBe(1);
    await passes(1000);
    expect(limiter).toMatchObject({ active: 0, queued: 0 });
  });

  test("is not waited for", async () => {
    const limiter = createLimiter({ concurrency: 1, maxQueue: 10 });
    const { guard, later } = await hedged({ limiter }, signsIn(300));
    const signature = guard.sign(DIGEST);
    await passes(300);
    await signature;
    expect(later()).toHaveLength(1);
    expect(limiter).toMatchObject({ active: 0, queued: 0 });
  });

  test("is not taken while other calls wait for one", async () => {
    const limiter = createLimiter({ concurrency: 2, maxQueue: 10 });
    const { guard, later } = await hedged({ limiter, saved: 3 }, signsIn(300), signsIn(150), signsIn(40));
    const signatures = Array.from({ length: 3 }, () => guard.sign(DIGEST));
    await passes(100);
    expect(limiter.queued).toBe(1);
    // The second one's answer at 150 ms gives its slot to the third call, and only that one's to the hedge of the first.
    await passes(89);
    expect(later()).toHaveLength(3);
    await passes(1);
    expect(later()).toHaveLength(4);
    await passes(110);
    await Promise.all(signatures);
  });

  test("takes a permit of the rate, and is not waited for either", async () => {
    const limiter = createLimiter({ rate: { permits: 25, perSeconds: 60, burst: 22 }, maxQueue: 10 });
    const { guard, later } = await hedged({ limiter }, signsIn(150), hangsUntilAborted);
    const first = guard.sign(DIGEST);
    await passes(150);
    await first;
    expect(later()).toHaveLength(2);
    expect(limiter.acquire()).toBeInstanceOf(Promise);
    const none = await hedged(
      {
        limiter: createLimiter({ rate: { permits: 21, perSeconds: 60, burst: 21 }, maxQueue: 10 }),
      },
      signsIn(300),
    );
    const alone = none.guard.sign(DIGEST);
    await passes(300);
    await alone;
    expect(none.later()).toHaveLength(1);
  });

  test("is not taken for an attempt by its own late answer", async () => {
    const limiter = createLimiter({ rate: { permits: 23, perSeconds: 60, burst: 23 }, maxQueue: 10 });
    const { guard, later } = await hedged({ limiter }, signsIn(150), signsIn(200));
    const signatures = [guard.sign(DIGEST), guard.sign(DIGEST)];
    await passes(200);
    await Promise.all(signatures);
    expect(later()).toHaveLength(2);
    // The last permit is still there.
    expect(await limiter.acquire(undefined, 0)).toBeInstanceOf(Function);
  });

  test("that was refused costs nothing, and is asked for again at the next good answer", async () => {
    const limiter = createLimiter({ concurrency: 2, maxQueue: 10 });
    const { guard, later } = await hedged({ limiter }, signsIn(500), signsIn(40));
    const held = await limiter.acquire();
    const slow = guard.sign(DIGEST);
    await passes(100);
    expect(later()).toHaveLength(1);
    held();
    const other = guard.sign(DIGEST);
    await passes(40);
    expect(later()).toHaveLength(3);
    await passes(40);
    await Promise.all([slow, other]);
  });
});

describe("a custom limiter", () => {
  const release = vi.fn<() => void>();
  const limiterOf = (hedge: (signal?: AbortSignal) => unknown): Limiter => {
    const acquire = (signal?: AbortSignal, withinMs?: number): unknown => (withinMs === 0 ? hedge(signal) : release);
    return { active: 0, queued: 0, acquire: acquire as Limiter["acquire"] };
  };

  beforeEach(() => {
    release.mockClear();
  });

  test("in whose queue calls wait is not asked for a hedge", async () => {
    const { guard, later } = await hedged({ limiter: { ...limiterOf(() => release), queued: 1 } }, signsIn(300));
    const signature = guard.sign(DIGEST);
    await passes(300);
    await signature;
    expect(later()).toHaveLength(1);
  });

  test("may grant the slot of a hedge later", async () => {
    const grant = new Promise((resolve) => setTimeout(resolve, 150, release));
    const { guard, later } = await hedged({ limiter: limiterOf(() => grant) }, signsIn(500), signsIn(40));
    const signature = guard.sign(DIGEST);
    await passes(149);
    expect(later()).toHaveLength(1);
    await passes(41);
    await signature;
    expect(later()).toHaveLength(2);
  });

  test("gets back a slot that it grants after the end of the call", async () => {
    let signal: AbortSignal | undefined;
    let grant: (release: () => void) => void = () => {};
    const limiter = limiterOf((given) => {
      signal = given;
      return new Promise((resolve) => (grant = resolve));
    });
    const { guard, later } = await hedged({ limiter }, signsIn(150));
    const signature = guard.sign(DIGEST);
    await passes(150);
    await signature;
    expect(signal?.aborted).toBe(true);
    const before = release.mock.calls.length;
    grant(release);
    await passes(0);
    expect(release.mock.calls.length).toBe(before + 1);
    expect(later()).toHaveLength(1);
  });

  test("is asked for no hedge after the end of the call, no matter how close it is to another call's answer", async () => {
    for (let turns = 0; turns < 12; turns += 1) {
      const signals: (AbortSignal | undefined)[] = [];
      const limiter = limiterOf((signal) => {
        signals.push(signal);
        return new Promise(() => {});
      });
      let answer = (): void => {};
      const answered = new Promise<void>((resolve) => (answer = resolve));
      const signsLater =
        (count: number): Behaviour =>
        async (call) => {
          const signature = call.sign();
          await answered;
          for (let turn = 0; turn < count; turn += 1) await Promise.resolve();
          return signature;
        };
      const { guard } = await hedged({ limiter }, signsLater(3), signsLater(turns));
      const signatures = [guard.sign(DIGEST), guard.sign(DIGEST)];
      await passes(150);
      answer();
      await Promise.all(signatures);
      expect(signals.map((signal) => signal?.aborted)).not.toContain(false);
    }
  });

  test("that cannot count its queue gets no hedges, and costs the call nothing else", async () => {
    let isBroken = false;
    const limiter = {
      ...limiterOf(() => release),
      get queued(): number {
        if (isBroken) throw new Error("broken");
        return 0;
      },
    };
    const { guard, later } = await hedged({ limiter }, signsIn(300), signsIn(150));
    isBroken = true;
    const signatures = [guard.sign(DIGEST), guard.sign(DIGEST)];
    await passes(300);
    for (const signature of signatures) expect(await signature).toHaveLength(64);
    expect(later()).toHaveLength(2);
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("broken");
      },
    ],
    ["rejects", () => Promise.reject(new Error("broken"))],
    ["returns something else", () => "slot"],
    ["never answers", () => new Promise(() => {})],
  ])("that %s costs the call nothing but its hedge", async (_name, hedge) => {
    const { guard, later } = await hedged({ limiter: limiterOf(hedge) }, signsIn(300));
    const signature = guard.sign(DIGEST);
    await passes(300);
    expect(await signature).toHaveLength(64);
    expect(later()).toHaveLength(1);
  });
});

describe("an attempt that lost", () => {
  test("and does not settle is counted as abandoned", async () => {
    const { guard } = await hedged({}, hangs, signs);
    const signature = guard.sign(DIGEST);
    await passes(100);
    await signature;
    await passes(999);
    expect(guard.health().notes.join()).not.toContain("abandoned");
    await passes(1);
    expect(guard.health().notes).toContain("abandoned calls that the backend has not answered: 1");
    expect(guard.health().status).toBe("ready");
  });

  test("counts for the limit of calls without an answer until it settles", async () => {
    const { guard } = await hedged({ concurrency: 2, saved: 2, maxAttempts: 1 }, hangs, signs, hangs, signs, signs);
    for (let call = 0; call < 2; call += 1) {
      const signature = guard.sign(DIGEST);
      await passes(100);
      await signature;
      await passes(1000);
    }
    expect(await failure(guard.sign(DIGEST))).toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("has not answered 2 earlier calls"),
    });
  });

  test("and fails later changes nothing", async () => {
    const late: Behaviour = (call) =>
      new Promise((_resolve, reject) => {
        call.signal.addEventListener("abort", () => setTimeout(reject, 50, unavailable()), { once: true });
      });
    const { guard } = await hedged({}, late, signs);
    const signature = guard.sign(DIGEST);
    await passes(100);
    await signature;
    const health = guard.health();
    await passes(50);
    expect(guard.health()).toEqual(health);
  });
});

describe("hedgeAfterMs", () => {
  const guarded = (policy: GuardPolicy) => () => guardSigner(scriptedSigner(signs).signer, policy);

  test.each([
    [{ hedgeAfterMs: 0 }],
    [{ hedgeAfterMs: 1.5 }],
    [{ hedgeAfterMs: Number.NaN }],
    [{ hedgeAfterMs: "100" as unknown as number }],
    [{ hedgeAfterMs: null as unknown as number }],
    [{ hedgeAfterMs: 2000 }],
    [{ hedgeAfterMs: 500, attemptTimeoutMs: 500 }],
  ])("of %o is refused by name", (policy) => {
    expect(guarded(policy)).toThrow(ConfigurationError);
    expect(guarded(policy)).toThrow(expect.objectContaining({ argument: "policy.hedgeAfterMs" }));
  });

  test("is less than attemptTimeoutMs, and the message says so", () => {
    expect(guarded({ hedgeAfterMs: 600, attemptTimeoutMs: 500 })).toThrow(
      "policy.hedgeAfterMs: expected less than attemptTimeoutMs (500), got 600",
    );
    expect(guarded({ hedgeAfterMs: 499, attemptTimeoutMs: 500 })).not.toThrow();
  });
});
