import { createHash, verify, type KeyObject } from "node:crypto";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createLimiter, guardSigner, SignerError, type GuardPolicy } from "@signpost/core";
import { failure } from "../support/failure.ts";
import { CALLS_PER_HEDGE, DIGEST, eventsOf, HEDGE_AFTER_MS, hedged, passes, signsIn } from "../support/hedged.ts";
import { type Behaviour, fails, hangsUntilAborted, scriptedSigner, signs } from "../support/scripted-signer.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const unavailable = () => new SignerError("unavailable", "gone");
const repeat = (count: number, behaviour: Behaviour): Behaviour[] => Array.from({ length: count }, () => behaviour);

describe("the budget of hedges", () => {
  test("is empty until twenty calls were made", async () => {
    const { guard, calls } = await hedged({ saved: 0 }, ...repeat(18, signs), signsIn(150), signsIn(150), signs);
    for (let made = 0; made < 18; made += 1) await guard.sign(DIGEST);
    for (const total of [19, 21]) {
      const signature = guard.sign(DIGEST);
      await passes(150);
      await signature;
      expect(calls).toHaveLength(total);
    }
  });

  test("saves up ten hedges at most", async () => {
    const { guard, later } = await hedged({ saved: 20 }, ...repeat(11, signsIn(150)).flatMap((slow) => [slow, signs]));
    for (let late = 0; late < 12; late += 1) {
      const signature = guard.sign(DIGEST);
      await passes(150);
      await signature;
    }
    // Twelve calls and ten hedges, since the twelve did not pay for another one.
    expect(later()).toHaveLength(22);
  });

  test("is paid into by calls, not by retries, and not by calls that were never sent", async () => {
    const gone = await hedged({ saved: 0, maxAttempts: 3 }, ...repeat(30, fails(unavailable)), signs, signsIn(150));
    for (let made = 0; made < 10; made += 1) {
      const error = failure(gone.guard.sign(DIGEST));
      await passes(1000);
      await error;
    }
    await gone.guard.sign(DIGEST);
    const limiter = createLimiter({ concurrency: 1, maxQueue: 0 });
    const full = await hedged({ saved: 0, limiter }, signs, signsIn(150));
    await full.guard.sign(DIGEST);
    const release = await limiter.acquire();
    for (let made = 0; made < 30; made += 1) await failure(full.guard.sign(DIGEST));
    release();
    for (const { guard, calls } of [gone, full]) {
      const before = calls.length;
      const signature = guard.sign(DIGEST);
      await passes(150);
      await signature;
      expect(calls.length - before).toBe(1);
    }
  });

  test("belongs to one signer", async () => {
    const limiter = createLimiter({ concurrency: 16, maxQueue: 100 });
    const rich = await hedged({ saved: 5, limiter }, signs);
    const poor = await hedged({ saved: 0, limiter }, signs, signsIn(150));
    await rich.guard.sign(DIGEST);
    await poor.guard.sign(DIGEST);
    const signature = poor.guard.sign(DIGEST);
    await passes(150);
    await signature;
    expect(poor.later()).toHaveLength(2);
  });
});

describe("a late attempt", () => {
  test("that is alone gets its hedge at once if the last answer was good", async () => {
    const { guard, later } = await hedged({}, signsIn(500), signsIn(10));
    const signature = guard.sign(DIGEST);
    await passes(100);
    expect(later()).toHaveLength(2);
    await passes(10);
    await signature;
  });

  test("gets none while the last answer is a failure", async () => {
    const { guard, later } = await hedged({ saved: 3, maxAttempts: 1 }, fails(unavailable), signsIn(300), signs);
    await failure(guard.sign(DIGEST));
    const signature = guard.sign(DIGEST);
    await passes(300);
    await signature;
    expect(later()).toHaveLength(2);
  });

  test("gets none before the first answer", async () => {
    const { signer, calls } = scriptedSigner(signsIn(1000));
    const guard = guardSigner(signer, { hedgeAfterMs: HEDGE_AFTER_MS, concurrency: 100 });
    const signatures = Array.from({ length: 60 }, () => guard.sign(DIGEST));
    await passes(999);
    expect(calls).toHaveLength(60);
    await passes(1);
    await Promise.all(signatures);
  });

  test("does not take the answer to a call that began before it for a sign that the backend still works", async () => {
    const { guard, later } = await hedged({ saved: 2 }, signsIn(150), signsIn(500), hangsUntilAborted, signsIn(10));
    const before = guard.sign(DIGEST);
    await passes(20);
    const late = guard.sign(DIGEST);
    await passes(20);
    const third = guard.sign(DIGEST);
    await passes(300);
    await before;
    expect(later()).toHaveLength(3);
    // This one began after both, and its answer is good for one hedge.
    const after = guard.sign(DIGEST);
    await passes(10);
    await after;
    expect(later()).toHaveLength(5);
    await passes(2000);
    await Promise.all([late, third]);
  });

  test("waits for another call's good answer if there is one in flight", async () => {
    const { guard, later } = await hedged({ saved: 2 }, signsIn(500), signsIn(220), signsIn(10));
    const late = guard.sign(DIGEST);
    const other = guard.sign(DIGEST);
    await passes(219);
    expect(later()).toHaveLength(2);
    await passes(1);
    await other;
    expect(later()).toHaveLength(3);
    await passes(10);
    await late;
  });

  test("shares the good answers with others: each is for one hedge, and the oldest attempt comes first", async () => {
    const { guard, later } = await hedged(
      { saved: 5 },
      hangsUntilAborted,
      hangsUntilAborted,
      signsIn(150),
      signsIn(10),
      signsIn(10),
    );
    const order: string[] = [];
    const told = (name: string) => (): void => void order.push(name);
    const all = [guard.sign(DIGEST).then(told("first")), guard.sign(DIGEST).then(told("second"))];
    await guard.sign(DIGEST, { signal: AbortSignal.abort() }).catch(() => {});
    all.push(guard.sign(DIGEST).then(told("other")));
    await passes(150);
    expect(later()).toHaveLength(4);
    // The hedge's own answer is the proof for the next one.
    await passes(10);
    expect(later()).toHaveLength(5);
    await passes(10);
    await Promise.all(all);
    expect(order).toEqual(["other", "first", "second"]);
  });
});

/** Callers that sign one call after another until the time is over. */
function callers(count: number, sign: () => Promise<unknown>, untilMs: number): Promise<unknown> {
  const caller = async (): Promise<void> => {
    while (performance.now() < untilMs) {
      await sign().catch(() => {});
    }
  };
  return Promise.all(Array.from({ length: count }, caller));
}

describe("an outage", () => {
  /** Answers in 20 to 60 ms, until the outage. */
  const healthy = (index: number): Behaviour => signsIn(20 + ((index * 17) % 41));

  /** Sends calls for some time before and for two seconds in the outage. Returns how many hedges there were in both. */
  async function extraCalls(count: number, policy: GuardPolicy, broken: Behaviour, healthyMs = 1000) {
    let index = 0;
    let out = false;
    const behaviour: Behaviour = (call) => (out ? broken(call) : healthy((index += 1))(call));
    const { signer, calls } = scriptedSigner(behaviour);
    const guard = guardSigner(signer, { hedgeAfterMs: HEDGE_AFTER_MS, ...policy });
    const before: number[] = [];
    const events = await eventsOf(async () => {
      const end = performance.now() + healthyMs + 2000;
      const all = callers(count, () => guard.sign(DIGEST), end);
      await passes(healthyMs);
      out = true;
      before.push(calls.length);
      await passes(8000);
      await all;
    });
    const hedges = events.reduce((sum, event) => sum + (event.hedges ?? 0), 0);
    expect(calls.length - (before[0] ?? 0)).toBeGreaterThan(count);
    return hedges;
  }

  test.each([
    ["does not answer", hangsUntilAborted],
    [
      "fails after a while",
      async () => {
        await new Promise((resolve) => setTimeout(resolve, 400));
        throw unavailable();
      },
    ],
    ["fails at once", fails(unavailable)],
  ])("in which the backend %s gets no extra call from 2 or 12 callers", async (_name, broken) => {
    for (const count of [2, 12]) {
      expect(await extraCalls(count, { concurrency: 200 }, broken)).toBe(0);
    }
  });

  test("in which the backend does not answer gets one extra call from a single caller, who cannot know", async () => {
    // Five seconds save up six hedges.
    expect(await extraCalls(1, {}, hangsUntilAborted, 5000)).toBe(1);
    // Also if that caller gives up before an attempt times out.
    expect(await extraCalls(1, { deadlineMs: 500 }, hangsUntilAborted, 5000)).toBe(1);
  });

  test("that ends lets hedges start again", async () => {
    const { guard, later } = await hedged(
      { saved: 3, maxAttempts: 1, attemptTimeoutMs: 200 },
      hangsUntilAborted,
      hangsUntilAborted,
      hangsUntilAborted,
      signs,
      hangsUntilAborted,
      signs,
    );
    for (const total of [2, 3]) {
      const error = failure(guard.sign(DIGEST));
      await passes(400);
      expect(await error).toMatchObject({ code: "timeout" });
      expect(later()).toHaveLength(total);
    }
    await guard.sign(DIGEST);
    const signature = guard.sign(DIGEST);
    await passes(100);
    await signature;
    expect(later()).toHaveLength(6);
  });
});

type Answer = "signs" | "fails" | "refuses" | "hangs" | "ignores its signal";
interface Planned {
  readonly answer: Answer;
  readonly ms: number;
}
const PLANS: fc.Arbitrary<Planned[]> = fc.array(
  fc.record({
    answer: fc.oneof(
      { weight: 40, arbitrary: fc.constant<Answer>("signs") },
      { weight: 2, arbitrary: fc.constantFrom<Answer>("fails", "refuses", "hangs", "ignores its signal") },
    ),
    ms: fc.oneof(
      { weight: 6, arbitrary: fc.integer({ min: 0, max: 60 }) },
      { weight: 2, arbitrary: fc.integer({ min: 90, max: 900 }) },
    ),
  }),
  { minLength: 1, maxLength: 60 },
);

interface Seen {
  readonly call: string;
  readonly at: number;
  /** When the backend answered well. */
  goodAt: number | undefined;
  /** When it settled, or the signal aborted. */
  endedAt: number;
  failed: boolean;
}

/** A backend that plays a plan, again and again, and remembers what it saw. */
function playing(plan: readonly Planned[]) {
  const seen: Seen[] = [];
  let inFlight = 0;
  let most = 0;
  const behaviour: Behaviour = async (call) => {
    const { answer, ms } = plan[seen.length % plan.length] ?? { answer: "signs", ms: 0 };
    const id = Buffer.from(call.digest).toString("hex");
    const mine: Seen = { call: id, at: performance.now(), goodAt: undefined, endedAt: Infinity, failed: false };
    seen.push(mine);
    inFlight += 1;
    most = Math.max(most, inFlight);
    call.signal.addEventListener("abort", () => (mine.endedAt = Math.min(mine.endedAt, performance.now())));
    try {
      return await (answer === "hangs" ? hangsUntilAborted(call) : after(answer, ms, call));
    } finally {
      inFlight -= 1;
    }
    async function after(kind: Answer, delayMs: number, { signal, sign }: typeof call): Promise<Uint8Array> {
      await new Promise((resolve) => {
        setTimeout(resolve, delayMs);
        if (kind !== "ignores its signal") signal.addEventListener("abort", resolve, { once: true });
      });
      if (signal.aborted && kind !== "ignores its signal") throw signal.reason;
      if (!signal.aborted) mine.endedAt = performance.now();
      mine.failed = !signal.aborted && (kind === "fails" || kind === "refuses");
      if (kind === "fails") throw unavailable();
      if (kind === "refuses") throw new SignerError("access_denied", "no");
      if (!signal.aborted) mine.goodAt = performance.now();
      return sign();
    }
  };
  return { behaviour, seen, most: () => most };
}

/** Calls of the backend that started while another one for the same call was in flight. */
function hedgesIn(seen: readonly Seen[]): { readonly hedge: Seen; readonly first: Seen }[] {
  return seen.flatMap((hedge, index) => {
    const first = seen
      .slice(0, index)
      .find(({ call, at, endedAt }) => call === hedge.call && at < hedge.at && hedge.at < endedAt);
    return first === undefined ? [] : [{ hedge, first }];
  });
}

function isSignature(publicKey: KeyObject, input: Buffer, signature: Uint8Array): boolean {
  return verify("sha256", input, { key: publicKey, dsaEncoding: "ieee-p1363" }, signature);
}

describe("whatever the backend does", () => {
  test("hedges keep to their rules, every call ends, and nothing is left behind", async () => {
    await fc.assert(
      fc.asyncProperty(
        PLANS,
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 14 }),
        async (plan, count, concurrency) => {
          const { behaviour, seen, most } = playing(plan);
          const { signer, publicKey } = scriptedSigner(behaviour);
          const limiter = createLimiter({ concurrency, maxQueue: 1000 });
          const guard = guardSigner(signer, {
            hedgeAfterMs: HEDGE_AFTER_MS,
            attemptTimeoutMs: 1000,
            deadlineMs: 3000,
            limiter,
          });
          let made = 0;
          const sign = async (): Promise<void> => {
            made += 1;
            const input = Buffer.from(`call ${made}`);
            const signature = await guard.sign(createHash("sha256").update(input).digest());
            expect(isSignature(publicKey, input, signature)).toBe(true);
          };
          const events = await eventsOf(async () => {
            const all = callers(count, () => (made < 120 ? sign() : passesLater()), performance.now() + 4000);
            await passes(15_000);
            await all;
          });

          expect(events).toHaveLength(made);
          const hedges = hedgesIn(seen);
          const told = events.reduce((sum, { hedges: own = 0 }) => sum + own, 0);
          const attempts = events.reduce((sum, event) => sum + event.attempts, 0);
          expect(attempts + told).toBe(seen.length);
          for (const { hedges: own = 0 } of events) expect(own).toBeLessThanOrEqual(1);
          for (const [index, { hedge, first }] of hedges.entries()) {
            const before = new Set(seen.filter(({ at }) => at <= hedge.at).map(({ call }) => call));
            expect((index + 1) * CALLS_PER_HEDGE).toBeLessThanOrEqual(before.size);
            expect(hedge.at - first.at).toBeGreaterThanOrEqual(HEDGE_AFTER_MS);
            const lateAt = first.at + HEDGE_AFTER_MS;
            const proof = seen.some(({ at, goodAt = -1 }) => at >= first.at && goodAt >= lateAt && goodAt <= hedge.at);
            const alone = seen.every(
              (other) => other === first || other === hedge || other.at >= hedge.at || other.endedAt <= hedge.at,
            );
            expect(proof || alone).toBe(true);
          }
          expect(most()).toBeLessThanOrEqual(concurrency);
          expect(limiter).toMatchObject({ active: 0, queued: 0 });
          expect(vi.getTimerCount()).toBe(0);
          await guard.close();
        },
      ),
      { numRuns: 12 },
    );
  });
});

const passesLater = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 100));
