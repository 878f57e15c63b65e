import { generateKeyPairSync } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  createKeySet,
  failoverSigner,
  guardSigner,
  SignerError,
  signWith,
  type GuardedSigner,
  type GuardPolicy,
  type Signer,
} from "@signpost/core";
import { createSigner } from "@signpost/core/adapter";
import { failure } from "../support/failure.ts";
import { DIGEST, eventsOf, HEDGE_AFTER_MS, passes, save, signsIn } from "../support/hedged.ts";
import { type Behaviour, fails, hangsUntilAborted, scriptedSignerOf, signs } from "../support/scripted-signer.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const unavailable = () => new SignerError("unavailable", "gone");
const MINUTE = 60_000;

interface Failover {
  readonly guard: GuardedSigner;
  /** Puts what the next calls of a place do. Without one, it signs at once. */
  readonly next: Readonly<Record<"first" | "second", Behaviour[]>>;
  readonly calls: () => { readonly first: number; readonly second: number };
}

/** A guard over two places of one key, which has saved up a few hedges. */
async function failover(policy: GuardPolicy = {}): Promise<Failover> {
  const key = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const next: { first: Behaviour[]; second: Behaviour[] } = { first: [], second: [] };
  const count = { first: 0, second: 0 };
  const place = (name: "first" | "second"): Signer => {
    const { signer } = scriptedSignerOf(key, (call) => {
      count[name] += 1;
      return (next[name].shift() ?? signs)(call);
    });
    return { ...signer, uri: `place:${name}` };
  };
  const guard = guardSigner(failoverSigner([place("first"), place("second")]), {
    hedgeAfterMs: HEDGE_AFTER_MS,
    ...policy,
  });
  await save(guard, 3);
  count.first = 0;
  return { guard, next, calls: () => ({ ...count }) };
}

async function signed(guard: GuardedSigner, ms: number): Promise<void> {
  const signature = guard.sign(DIGEST);
  await passes(ms);
  await signature;
}

describe("a hedge over a failover", () => {
  test("goes to the place that signs, and the loser's abort does not leave it", async () => {
    const { guard, next, calls } = await failover();
    next.first.push(hangsUntilAborted, signsIn(40));
    await signed(guard, 140);
    expect(calls()).toEqual({ first: 2, second: 0 });
    expect(guard.health()).toMatchObject({ status: "ready" });
    await guard.sign(DIGEST);
    expect(calls()).toEqual({ first: 3, second: 0 });
  });

  test("that fails leaves its place, and the first attempt goes on", async () => {
    const { guard, next, calls } = await failover();
    next.first.push(hangsUntilAborted, fails(unavailable));
    // The first attempt goes on until it times out. The next one is at the place that signs.
    const signature = guard.sign(DIGEST);
    await passes(100);
    expect(calls()).toEqual({ first: 2, second: 0 });
    await passes(2000);
    await signature;
    expect(calls()).toEqual({ first: 2, second: 1 });
    expect(guard.health()).toMatchObject({ status: "degraded" });
  });

  test("signs if the place of the first attempt times out, and the standby takes over", async () => {
    const { guard, next, calls } = await failover();
    next.first.push(hangsUntilAborted, hangsUntilAborted);
    await signed(guard, 2200);
    expect(calls()).toEqual({ first: 2, second: 1 });
    const [event] = await eventsOf(() => guard.sign(DIGEST));
    expect(event).toMatchObject({ place: "place:second" });
  });

  test("names the place of its signature in the event, also when the first attempt was elsewhere", async () => {
    const { guard, next, calls } = await failover();
    next.first.push(fails(unavailable));
    await signed(guard, 50);
    await passes(MINUTE);
    // This attempt tries the first place again, and its hedge goes to the place that signs.
    next.first.push(hangsUntilAborted);
    next.second.push(signsIn(40));
    const [event] = await eventsOf(() => signed(guard, 140));
    expect(calls()).toEqual({ first: 2, second: 2 });
    expect(event).toMatchObject({ attempts: 1, hedges: 1, hedgeWon: true, place: "place:second" });
  });

  test("that beats the attempt at the first place neither leaves nor returns to it", async () => {
    const { guard, next, calls } = await failover();
    next.first.push(fails(unavailable));
    await signed(guard, 50);
    await passes(MINUTE);
    const before = guard.health();
    next.first.push(hangsUntilAborted);
    await signed(guard, 140);
    expect(guard.health()).toMatchObject({ status: "degraded", since: before.since });
    // The first place is tried again after thirty seconds, as after any attempt there.
    await guard.sign(DIGEST);
    expect(calls()).toMatchObject({ first: 2 });
    await passes(30_000);
    await guard.sign(DIGEST);
    expect(calls()).toMatchObject({ first: 3 });
    expect(guard.health()).toMatchObject({ status: "ready" });
  });

  test("that fails last names its place in the error of the call", async () => {
    const { guard, next } = await failover({ maxAttempts: 1 });
    next.first.push(fails(unavailable));
    await failure(guard.sign(DIGEST));
    await guard.sign(DIGEST);
    await passes(MINUTE);
    next.first.push(hangsUntilAborted);
    next.second.push(hangsUntilAborted);
    const error = failure(guard.sign(DIGEST));
    await passes(2100);
    expect(await error).toMatchObject({ code: "timeout", uri: "place:second" });
  });

  test("has its signature verified at a place that is not proven, with verify: first", async () => {
    const { guard, next } = await failover();
    const { active } = createKeySet([{ signer: guard }]);
    const sign = () => signWith(active, Buffer.from("input"), { verify: "first" });
    // Proves the first place. The second one signs from now on, and has proven nothing.
    await sign();
    next.first.push(fails(unavailable));
    await signed(guard, 50);
    const { signer: other } = scriptedSignerOf(generateKeyPairSync("ec", { namedCurve: "P-256" }), signs);
    next.second.push(hangsUntilAborted, (call) => other.sign(call.digest));
    const error = failure(sign());
    await passes(100);
    expect(await error).toMatchObject({ code: "bad_signature", uri: "place:second" });
  });
});

describe("hedgeAfterMs of a signer that refuses it", () => {
  const reason = "a started call cannot be aborted";
  const bare = (refusesHedging?: string): Signer => {
    const { signer } = scriptedSignerOf(KEY, signs);
    return createSigner({
      uri: signer.uri,
      publicKey: signer.publicKey,
      refusesHedging,
      signDigest: (digest, options) => signer.sign(digest, options),
      close: () => signer.close(),
    });
  };
  const KEY = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const refusal = expect.objectContaining({
    argument: "policy.hedgeAfterMs",
    message: `policy.hedgeAfterMs: expected none, because ${reason}`,
  });

  test("is refused by guardSigner, with the reason", () => {
    expect(() => guardSigner(bare(reason), { hedgeAfterMs: 100 })).toThrow(refusal);
    expect(() => guardSigner(bare(reason), {})).not.toThrow();
    expect(() => guardSigner(bare(), { hedgeAfterMs: 100 })).not.toThrow();
  });

  test("is refused for a failover if any of its places refuses it", () => {
    expect(() => guardSigner(failoverSigner([bare(), bare(reason)]), { hedgeAfterMs: 100 })).toThrow(refusal);
    expect(() => guardSigner(failoverSigner([bare(), bare()]), { hedgeAfterMs: 100 })).not.toThrow();
    const nested = failoverSigner([bare(), failoverSigner([bare(reason)])]);
    expect(() => guardSigner(nested, { hedgeAfterMs: 100 })).toThrow(refusal);
  });
});
