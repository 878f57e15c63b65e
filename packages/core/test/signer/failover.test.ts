import { generateKeyPairSync } from "node:crypto";
import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ConfigurationError, failoverSigner, guardSigner, SignerError } from "@signpost/core";
import { failure } from "../support/failure.ts";
import {
  type Behaviour,
  fails,
  hangs,
  scriptedSigner,
  scriptedSignerOf,
  signs,
  signsAfter,
} from "../support/scripted-signer.ts";

const DIGEST = new Uint8Array(32).fill(7);
const unavailable = fails(() => new SignerError("unavailable", "down"));

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** One key in two places, whose behaviour a test may change. */
function pair(...behaviours: [Behaviour, Behaviour]) {
  const key = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const places = behaviours.map((behaviour) => {
    const place = { behaviour, calls: 0 };
    const scripted = scriptedSignerOf(key, (call) => {
      place.calls += 1;
      return place.behaviour(call);
    });
    return Object.assign(place, { scripted });
  });
  const failover = failoverSigner(places.map((place) => place.scripted.signer));
  return { places, failover };
}

describe("failover", () => {
  test("uses the first signer while it works", async () => {
    const { failover, places } = pair(signs, signs);
    await failover.sign(DIGEST);
    await failover.sign(DIGEST);
    expect(places.map((place) => place.calls)).toEqual([2, 0]);
  });

  test("makes one attempt per call: a transient failure only moves the next call", async () => {
    const { failover, places } = pair(unavailable, signs);
    expect(await failure(failover.sign(DIGEST))).toMatchObject({ code: "unavailable" });
    expect(places.map((place) => place.calls)).toEqual([1, 0]);
    expect(await failover.sign(DIGEST)).toHaveLength(64);
    expect(places.map((place) => place.calls)).toEqual([1, 1]);
  });

  test.each<[what: string, behaviour: Behaviour]>([
    ["signed", signs],
    ["failed", unavailable],
    ["was refused", fails(() => new SignerError("access_denied", "no"))],
  ])("a call that %s leaves nothing on its signal, whose later end moves no call", async (_what, behaviour) => {
    const { failover, places } = pair(behaviour, behaviour);
    const caller = new AbortController();
    await failover.sign(DIGEST, { signal: caller.signal }).catch(() => undefined);
    expect(getEventListeners(caller.signal, "abort")).toEqual([]);
    const before = places.map((place) => place.calls);
    caller.abort(new SignerError("timeout", "no answer in time"));
    for (const place of places) place.behaviour = signs;
    await failover.sign(DIGEST);
    const moved = behaviour === unavailable ? 1 : 0;
    expect(places.map((place, index) => place.calls - (before[index] ?? 0))).toEqual(moved === 0 ? [1, 0] : [0, 1]);
  });

  test("stays where it is after a failure that is not transient", async () => {
    const { failover, places } = pair(
      fails(() => new SignerError("access_denied", "no")),
      signs,
    );
    await failure(failover.sign(DIGEST));
    await failure(failover.sign(DIGEST));
    expect(places.map((place) => place.calls)).toEqual([2, 0]);
  });

  test("inside a guard one call reaches the second signer within its deadline", async () => {
    const { failover } = pair(unavailable, signs);
    const signature = guardSigner(failover).sign(DIGEST);
    await vi.advanceTimersByTimeAsync(1000);
    expect(await signature).toHaveLength(64);
  });

  test("a timed-out attempt moves on even while the first signer still hangs", async () => {
    const { failover, places } = pair(hangs, signs);
    const signature = guardSigner(failover, { attemptTimeoutMs: 100 }).sign(DIGEST);
    await vi.advanceTimersByTimeAsync(1000);
    expect(await signature).toHaveLength(64);
    expect(places.map((place) => place.calls)).toEqual([1, 1]);
  });

  test("an aborted caller does not move it", async () => {
    const { failover, places } = pair(signsAfter(50), signs);
    const guard = guardSigner(failover);
    const controller = new AbortController();
    const failed = failure(guard.sign(DIGEST, { signal: controller.signal }));
    controller.abort();
    await failed;
    const next = guard.sign(DIGEST);
    await vi.advanceTimersByTimeAsync(100);
    await next;
    expect(places.map((place) => place.calls)).toEqual([2, 0]);
  });

  test("many simultaneous failures move it by only one place", async () => {
    const { failover } = pair(unavailable, signs);
    await Promise.all(Array.from({ length: 10 }, () => failure(failover.sign(DIGEST))));
    expect(await failover.sign(DIGEST)).toHaveLength(64);
  });

  test("tries the first again after 30 s with one call, and returns to it on success", async () => {
    const { failover, places } = pair(unavailable, signs);
    await failure(failover.sign(DIGEST));
    await vi.advanceTimersByTimeAsync(29_999);
    await failover.sign(DIGEST);
    expect(places.map((place) => place.calls)).toEqual([1, 1]);
    const [first] = places;
    if (first !== undefined) first.behaviour = signsAfter(10);
    await vi.advanceTimersByTimeAsync(1);
    const probe = failover.sign(DIGEST);
    await failover.sign(DIGEST);
    expect(places.map((place) => place.calls)).toEqual([2, 2]);
    await vi.advanceTimersByTimeAsync(10);
    await probe;
    const back = failover.sign(DIGEST);
    await vi.advanceTimersByTimeAsync(10);
    await back;
    expect(places.map((place) => place.calls)).toEqual([3, 2]);
  });

  test("tries the first again after a machine slept for 30 s, and only the wall clock has moved", async () => {
    const { failover, places } = pair(unavailable, signs);
    await failure(failover.sign(DIGEST));
    vi.setSystemTime(Date.now() + 29_999);
    await failover.sign(DIGEST);
    expect(places.map((place) => place.calls)).toEqual([1, 1]);
    vi.setSystemTime(Date.now() + 1);
    await failure(failover.sign(DIGEST));
    expect(places.map((place) => place.calls)).toEqual([2, 1]);
  });

  test("tries the first again after 30 s even if the wall clock was set back meanwhile", async () => {
    const { failover, places } = pair(unavailable, signs);
    await failure(failover.sign(DIGEST));
    vi.setSystemTime(Date.now() - 3_600_000);
    await vi.advanceTimersByTimeAsync(30_000);
    await failure(failover.sign(DIGEST));
    expect(places.map((place) => place.calls)).toEqual([2, 0]);
  });

  test("stays with the second for another 30 s when the first is still down", async () => {
    const { failover, places } = pair(unavailable, signs);
    await failure(failover.sign(DIGEST));
    await vi.advanceTimersByTimeAsync(30_000);
    await failure(failover.sign(DIGEST));
    await failover.sign(DIGEST);
    await vi.advanceTimersByTimeAsync(29_999);
    await failover.sign(DIGEST);
    expect(places.map((place) => place.calls)).toEqual([2, 2]);
  });

  test("does not return before 30 s because of a call that began before the first was left", async () => {
    const { failover, places } = pair(signsAfter(50), signs);
    const [first] = places;
    const slow = failover.sign(DIGEST);
    if (first !== undefined) first.behaviour = unavailable;
    await failure(failover.sign(DIGEST));
    await vi.advanceTimersByTimeAsync(50);
    await slow;
    await failover.sign(DIGEST);
    expect(places.map((place) => place.calls)).toEqual([2, 1]);
  });

  test("closes every signer even when one of them throws, and reports that", async () => {
    const { places } = pair(signs, signs);
    const [first, second] = places.map((place) => place.scripted);
    if (first === undefined || second === undefined) throw new Error("expected a pair");
    const broken = failoverSigner([
      {
        ...first.signer,
        close: () => {
          throw new Error("close failed");
        },
      },
      second.signer,
    ]);
    expect(await failure(broken.close())).toMatchObject({ message: "close failed" });
    expect(second.closed()).toBe(1);
  });

  test("a first signer that refuses permanently does not cost the call that tries it again its signature", async () => {
    const { failover, places } = pair(unavailable, signs);
    await failure(failover.sign(DIGEST));
    const [first] = places;
    if (first !== undefined) first.behaviour = fails(() => new SignerError("key_disabled", "disabled"));
    await vi.advanceTimersByTimeAsync(30_000);
    const signature = guardSigner(failover).sign(DIGEST);
    await vi.advanceTimersByTimeAsync(1000);
    expect(await signature).toHaveLength(64);
    expect(places.map((place) => place.calls)).toEqual([2, 1]);
  });

  const refuses = fails(() => new SignerError("access_denied", "no"));

  test("a standby that refuses permanently does not keep calls from the first signer, which failed once", async () => {
    let calls = 0;
    const { failover, places } = pair((call) => ((calls += 1) === 1 ? unavailable(call) : signs(call)), refuses);
    const signature = guardSigner(failover).sign(DIGEST);
    await vi.advanceTimersByTimeAsync(1000);
    expect(await signature).toHaveLength(64);
    expect(await failover.sign(DIGEST)).toHaveLength(64);
    expect(places.map((place) => place.calls)).toEqual([3, 1]);
  });

  test("a first signer that refuses permanently since it was left does not keep calls from a standby that failed once", async () => {
    const { failover, places } = pair(unavailable, signs);
    const [first, standby] = places;
    await failure(failover.sign(DIGEST));
    if (first !== undefined) first.behaviour = refuses;
    if (standby !== undefined) standby.behaviour = unavailable;
    await failure(failover.sign(DIGEST));
    expect(await failure(failover.sign(DIGEST))).toMatchObject({
      code: "unavailable",
      cause: { code: "access_denied" },
    });
    if (standby !== undefined) standby.behaviour = signs;
    expect(await failover.sign(DIGEST)).toHaveLength(64);
  });

  test("refuses like the first signer if all places refuse, or once it has signed again", async () => {
    const { failover, places } = pair(unavailable, refuses);
    const [first] = places;
    await failure(failover.sign(DIGEST));
    if (first !== undefined) first.behaviour = refuses;
    await failure(failover.sign(DIGEST));
    for (let call = 0; call < 2; call += 1) {
      expect(await failure(failover.sign(DIGEST))).toMatchObject({ code: "access_denied" });
    }
    if (first !== undefined) first.behaviour = signs;
    await failover.sign(DIGEST);
    if (first !== undefined) first.behaviour = refuses;
    expect(await failure(failover.sign(DIGEST))).toMatchObject({ code: "access_denied" });
  });

  test("a standby that refuses permanently does not count as a refusal of the key, and is named", async () => {
    const { failover, places } = pair(unavailable, refuses);
    await failure(failover.sign(DIGEST));
    expect(await failure(failover.sign(DIGEST))).toMatchObject({
      code: "unavailable",
      uri: places[1]?.scripted.signer.uri,
      cause: { code: "access_denied" },
    });
  });

  test.each(["invalid_argument", "closed"] as const)("%s is the caller's at every place", async (code) => {
    const { failover, places } = pair(
      unavailable,
      fails(() => new SignerError(code, "no")),
    );
    await failure(failover.sign(DIGEST));
    for (let call = 0; call < 2; call += 1) expect(await failure(failover.sign(DIGEST))).toMatchObject({ code });
    expect(places.map((place) => place.calls)).toEqual([1, 2]);
    await vi.advanceTimersByTimeAsync(30_000);
    const [first] = places;
    if (first !== undefined) first.behaviour = fails(() => new SignerError(code, "no"));
    expect(await failure(failover.sign(DIGEST))).toMatchObject({ code });
  });

  test("closes every signer", async () => {
    const { failover, places } = pair(signs, signs);
    await failover.close();
    expect(places.map((place) => place.scripted.closed())).toEqual([1, 1]);
  });

  test("refuses an empty list, a guarded signer and different public keys", () => {
    const a = scriptedSigner().signer;
    const b = scriptedSigner().signer;
    expect(() => failoverSigner([])).toThrow(ConfigurationError);
    expect(() => failoverSigner([a, guardSigner(a)])).toThrow(/signers\[1\]/);
    expect(() => failoverSigner([a, b])).toThrow(/same public key/);
  });
});
