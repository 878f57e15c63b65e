import { createHash } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createLimiter, guardSigner, SIGN_CHANNEL, SignerError, type SignEvent } from "@signpost/core";
import { failure } from "../support/failure.ts";
import { type Behaviour, fails, scriptedSigner, signs } from "../support/scripted-signer.ts";

const DIGEST = createHash("sha256").update("signing input").digest();

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** One call a second. */
const slow = () => createLimiter({ rate: { permits: 1, perSeconds: 1 }, maxQueue: 100 });

function guarded(limiter = slow(), deadlineMs = 5000, ...behaviours: Behaviour[]) {
  const scripted = scriptedSigner(...behaviours);
  return { ...scripted, limiter, guard: guardSigner(scripted.signer, { limiter, deadlineMs }) };
}

describe("a guard with a rate", () => {
  test("takes a permit for each retry", async () => {
    const { guard, calls } = guarded(
      slow(),
      5000,
      fails(() => new SignerError("unavailable", "gone")),
      signs,
    );
    const signature = guard.sign(DIGEST);
    await vi.advanceTimersByTimeAsync(999);
    expect(calls).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(await signature).toHaveLength(64);
    expect(calls).toHaveLength(2);
  });

  test("shares it with other guards", async () => {
    const limiter = slow();
    const [a, b] = [guarded(limiter), guarded(limiter)];
    await a.guard.sign(DIGEST);
    const second = b.guard.sign(DIGEST);
    await vi.advanceTimersByTimeAsync(999);
    expect(b.calls).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(1);
    await second;
    expect(b.calls).toHaveLength(1);
  });

  test("rejects a call at once that could not start before its deadline, and sends nothing", async () => {
    const { guard, calls } = guarded(slow(), 2500);
    // At 0, 1 and 2 s. The next one would start after its deadline.
    const signed = [guard.sign(DIGEST), guard.sign(DIGEST), guard.sign(DIGEST)];
    expect(await failure(guard.sign(DIGEST))).toMatchObject({ code: "overloaded", transient: true, uri: guard.uri });
    await vi.advanceTimersByTimeAsync(2000);
    await Promise.all(signed);
    expect(calls).toHaveLength(3);
  });

  test("ends with the error of the last attempt if the retry would get no permit in time", async () => {
    const { guard, calls } = guarded(
      slow(),
      800,
      fails(() => new SignerError("throttled", "slow down")),
    );
    const error = failure(guard.sign(DIGEST));
    await vi.advanceTimersByTimeAsync(200);
    expect(await error).toMatchObject({ code: "throttled" });
    expect(calls).toHaveLength(1);
  });

  test("counts the wait for a permit as time in the queue", async () => {
    const events: SignEvent[] = [];
    const listener = (message: unknown): void => void events.push(message as SignEvent);
    subscribe(SIGN_CHANNEL, listener);
    const { guard } = guarded();
    const signed = Promise.all([guard.sign(DIGEST), guard.sign(DIGEST)]);
    await vi.advanceTimersByTimeAsync(1000);
    await signed;
    unsubscribe(SIGN_CHANNEL, listener);
    expect(events.map(({ queueMs }) => queueMs)).toEqual([0, 1000]);
  });

  test("lets close end the calls that wait for a permit", async () => {
    const { guard, calls, limiter } = guarded();
    await guard.sign(DIGEST);
    const waiting = failure(guard.sign(DIGEST));
    await guard.close();
    expect(await waiting).toMatchObject({ code: "closed" });
    expect(calls).toHaveLength(1);
    expect(limiter).toMatchObject({ active: 0, queued: 0 });
    expect(vi.getTimerCount()).toBe(0);
  });

  test("lets a caller abort the wait for a permit, which the next call then gets", async () => {
    const { guard, calls } = guarded();
    await guard.sign(DIGEST);
    const controller = new AbortController();
    const aborted = failure(guard.sign(DIGEST, { signal: controller.signal }));
    const next = guard.sign(DIGEST);
    controller.abort();
    expect(await aborted).toMatchObject({ code: "aborted" });
    await vi.advanceTimersByTimeAsync(1000);
    await next;
    expect(calls).toHaveLength(2);
  });
});
