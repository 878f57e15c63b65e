import { generateKeyPairSync } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  createKeySet,
  failoverSigner,
  guardSigner,
  SIGN_CHANNEL,
  SignerError,
  type SignEvent,
  signJwt,
  signWith,
  type Signer,
} from "@signpost/core";
import { createSigner, markPlace } from "@signpost/core/adapter";
import { failure } from "../support/failure.ts";
import {
  answers,
  type Behaviour,
  fails,
  hangs,
  scriptedSigner,
  scriptedSignerOf,
  signs,
} from "../support/scripted-signer.ts";

const DIGEST = new Uint8Array(32).fill(7);
const INPUT = new TextEncoder().encode("header.payload");
const down = fails(() => new SignerError("unavailable", "down"));

beforeEach(() => {
  vi.useFakeTimers({ now: new Date("2026-03-01T08:00:00Z") });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Two places of one key, by name, whose behavior a test may change. */
function frankfurtAndDublin(first: Behaviour, second: Behaviour) {
  const key = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const behaviours = { frankfurt: first, dublin: second };
  const placeOf = (name: keyof typeof behaviours): Signer => {
    const { signer } = scriptedSignerOf(key, (call) => behaviours[name](call));
    return createSigner({
      uri: `test:${name}`,
      publicKey: signer.publicKey,
      signDigest: (digest, options) => signer.sign(digest, options),
      close: async () => {},
    });
  };
  return { behaviours, bare: failoverSigner([placeOf("frankfurt"), placeOf("dublin")]) };
}

/** The events of what runs meanwhile. */
async function eventsOf(run: () => Promise<unknown>): Promise<SignEvent[]> {
  const events: SignEvent[] = [];
  const listener = (message: unknown): void => void events.push(message as SignEvent);
  subscribe(SIGN_CHANNEL, listener);
  try {
    await run();
  } finally {
    unsubscribe(SIGN_CHANNEL, listener);
  }
  return events;
}

describe("the health of a failover", () => {
  test("is ready while the first place signs, and says so", async () => {
    const guard = guardSigner(frankfurtAndDublin(signs, signs).bare);
    await guard.sign(DIGEST);
    expect(guard.health()).toMatchObject({
      status: "ready",
      notes: ["signs at test:frankfurt, the first of 2 places"],
    });
  });

  test("is degraded while the standby signs, one failure from an outage, and says since when and why", async () => {
    const guard = guardSigner(frankfurtAndDublin(down, signs).bare);
    const signature = guard.sign(DIGEST);
    await vi.advanceTimersByTimeAsync(1000);
    expect(await signature).toHaveLength(64);
    expect(guard.health()).toMatchObject({
      status: "degraded",
      notes: ["the standby test:dublin has signed since 2026-03-01T08:00:00.000Z: test:frankfurt failed (unavailable)"],
    });
  });

  test.each(["createSigner", "its own place"])("tells places with the same URI apart: %s", async (kind) => {
    const key = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const session = { uri: "test:op" };
    const placeOf = (behaviour: Behaviour): Signer => {
      const { signer } = scriptedSignerOf(key, behaviour);
      return createSigner({
        uri: "test:op",
        publicKey: signer.publicKey,
        signDigest: async (digest, options) => {
          const signature = await signer.sign(digest, options);
          return kind === "createSigner" ? signature : markPlace(signature, session);
        },
        close: async () => {},
      });
    };
    const guard = guardSigner(failoverSigner([placeOf(down), placeOf(signs)]));
    const events = await eventsOf(async () => {
      const signature = guard.sign(DIGEST);
      await vi.advanceTimersByTimeAsync(1000);
      await signature;
    });
    expect(events).toMatchObject([{ place: "test:op (place 2)" }]);
    expect(guard.health().notes).toEqual([
      "the standby test:op (place 2) has signed since 2026-03-01T08:00:00.000Z: test:op (place 1) failed (unavailable)",
    ]);
  });

  test("is ready again once the first place is", async () => {
    const { bare, behaviours } = frankfurtAndDublin(down, signs);
    const guard = guardSigner(bare);
    const signature = guard.sign(DIGEST);
    await vi.advanceTimersByTimeAsync(30_000);
    await signature;
    behaviours.frankfurt = signs;
    await guard.sign(DIGEST);
    expect(guard.health()).toMatchObject({ status: "ready", notes: [expect.stringContaining("test:frankfurt")] });
  });

  test("still names a standby that failed, while the first place signs again", async () => {
    const refuses = fails(() => new SignerError("key_disabled", "off"));
    const { bare, behaviours } = frankfurtAndDublin(down, refuses);
    const guard = guardSigner(bare, { maxAttempts: 2 });
    const failed = failure(guard.sign(DIGEST));
    await vi.advanceTimersByTimeAsync(1000);
    await failed;
    behaviours.frankfurt = signs;
    await guard.sign(DIGEST);
    expect(guard.health().status).toBe("ready");
    expect(guard.health().notes[0]).toMatch(
      /^signs at test:frankfurt, the first of 2 places; test:dublin failed when last used, at 2026-03-01T08:00:00\.0\d\dZ \(key_disabled\)$/,
    );
    behaviours.frankfurt = down;
    behaviours.dublin = signs;
    const signature = guard.sign(DIGEST);
    await vi.advanceTimersByTimeAsync(31_000);
    await signature;
    behaviours.frankfurt = signs;
    await guard.sign(DIGEST);
    expect(guard.health().notes).toEqual(["signs at test:frankfurt, the first of 2 places"]);
  });

  test("is degraded while a standby that was not needed is down by what its adapter says", async () => {
    const { signer } = scriptedSigner();
    let status: "ready" | "down" = "ready";
    const standby = createSigner({
      uri: "test:standby",
      publicKey: signer.publicKey,
      signDigest: signer.sign,
      status: () => status,
      notes: () => ["the token is gone"],
      close: async () => {},
    });
    const guard = guardSigner(failoverSigner([signer, standby]));
    await guard.sign(DIGEST);
    expect(guard.health().status).toBe("ready");
    status = "down";
    expect(guard.health()).toMatchObject({
      status: "degraded",
      notes: [expect.stringContaining("the first of 2 places"), "test:standby: the token is gone"],
    });
    status = "ready";
    expect(guard.health().status).toBe("ready");
  });

  test("counts abandoned calls in any place", async () => {
    const guard = guardSigner(frankfurtAndDublin(hangs, signs).bare, { attemptTimeoutMs: 100 });
    const signature = guard.sign(DIGEST);
    await vi.advanceTimersByTimeAsync(2000);
    expect(await signature).toHaveLength(64);
    expect(guard.health().notes).toContain("abandoned calls that the backend has not answered: 1");
  });

  test("does not let the abandoned calls of a dead place keep others from the standby", async () => {
    const { bare } = frankfurtAndDublin(hangs, signs);
    const guard = guardSigner(bare, { attemptTimeoutMs: 100, concurrency: 1 });
    for (let round = 0; round < 4; round += 1) {
      const signature = guard.sign(DIGEST);
      await vi.advanceTimersByTimeAsync(31_000);
      expect(await signature).toHaveLength(64);
    }
  });
});

describe("the event of a call", () => {
  test("names the place that signed", async () => {
    const guard = guardSigner(frankfurtAndDublin(down, signs).bare);
    const events = await eventsOf(async () => {
      const signature = guard.sign(DIGEST);
      await vi.advanceTimersByTimeAsync(1000);
      await signature;
      await guard.sign(DIGEST);
    });
    expect(events).toMatchObject([
      { uri: "failover:test:frankfurt,test:dublin", place: "test:dublin", attempts: 2 },
      { place: "test:dublin", attempts: 1 },
    ]);
  });

  test("names the place that failed last, and so does the error", async () => {
    const guard = guardSigner(frankfurtAndDublin(down, down).bare, { maxAttempts: 2 });
    const events = await eventsOf(async () => {
      const failed = failure(guard.sign(DIGEST));
      await vi.advanceTimersByTimeAsync(1000);
      expect(await failed).toMatchObject({ code: "unavailable", uri: "test:dublin" });
    });
    expect(events).toMatchObject([{ code: "unavailable", place: "test:dublin" }]);
  });

  test("names the place also of an error of a derived class, which names no signer", async () => {
    class Refusal extends SignerError {}
    const refuses = fails(() => new Refusal("access_denied", "no"));
    const guard = guardSigner(frankfurtAndDublin(refuses, signs).bare);
    const events = await eventsOf(() => failure(guard.sign(DIGEST)));
    expect(events).toMatchObject([{ code: "access_denied", place: "test:frankfurt" }]);
  });

  test("names none of a signer in one place", async () => {
    const [event] = await eventsOf(() => guardSigner(scriptedSigner().signer).sign(DIGEST));
    expect(event).not.toHaveProperty("place");
  });

  test("name no place if it is one of the signer's own sessions", async () => {
    const { signer } = scriptedSigner();
    const own = createSigner({
      uri: "test:own",
      publicKey: signer.publicKey,
      signDigest: async (digest) => markPlace(await signer.sign(digest), { uri: "test:own" }),
      close: async () => {},
    });
    const [event] = await eventsOf(() => guardSigner(own).sign(DIGEST));
    expect(event).toMatchObject({ uri: "test:own" });
    expect(event).not.toHaveProperty("place");
  });
});

const wrongKey: Behaviour = ({ digest }) => scriptedSigner().signer.sign(digest);

describe("a place whose signature does not verify", () => {
  test.each([
    ["guarded", guardSigner],
    ["bare", (bare: Signer) => bare],
  ])("is left for the next one, in a failover that is %s", async (_form, form) => {
    const { bare } = frankfurtAndDublin(wrongKey, signs);
    const entry = createKeySet([{ signer: form(bare) }]).active;
    expect(await failure(signWith(entry, INPUT))).toMatchObject({ code: "bad_signature", uri: "test:frankfurt" });
    expect(await signWith(entry, INPUT)).toHaveLength(64);
  });

  const threePlaces = (): Record<"bad" | "good" | "dead", Signer> => {
    const key = generateKeyPairSync("ec", { namedCurve: "P-256" });
    return {
      bad: scriptedSignerOf(key, wrongKey).signer,
      good: scriptedSignerOf(key, signs).signer,
      dead: scriptedSignerOf(key, down).signer,
    };
  };

  test("is left in a failover inside another one", async () => {
    const { bad, good, dead } = threePlaces();
    const guard = guardSigner(failoverSigner([failoverSigner([bad, good]), dead]), { maxAttempts: 1 });
    const entry = createKeySet([{ signer: guard }]).active;
    expect(await failure(signWith(entry, INPUT))).toMatchObject({ code: "bad_signature" });
    expect(await failure(signWith(entry, INPUT))).toMatchObject({ code: "unavailable" });
    expect(await signWith(entry, INPUT)).toHaveLength(64);
  });

  test.each([
    ["guarded", guardSigner],
    ["bare", (bare: Signer) => bare],
  ])("is left in a failover inside a %s signer that was written by hand", async (_form, form) => {
    const { bad, good } = threePlaces();
    const inner = failoverSigner([bad, good]);
    const logged: Signer = { ...inner, sign: async (digest, options) => inner.sign(digest, options) };
    const entry = createKeySet([{ signer: form(logged) }]).active;
    expect(await failure(signWith(entry, INPUT))).toMatchObject({ code: "bad_signature" });
    expect(await signWith(entry, INPUT)).toHaveLength(64);
  });

  test("is named by an event", async () => {
    const entry = createKeySet([{ signer: guardSigner(frankfurtAndDublin(wrongKey, signs).bare) }]).active;
    const events = await eventsOf(() => failure(signWith(entry, INPUT)));
    expect(events).toMatchObject([{ attempts: 1 }, { code: "bad_signature", place: "test:frankfurt" }]);
  });

  test("shows in the health of the failover", async () => {
    const guard = guardSigner(frankfurtAndDublin(wrongKey, signs).bare);
    const entry = createKeySet([{ signer: guard }]).active;
    await failure(signWith(entry, INPUT));
    await signWith(entry, INPUT);
    expect(guard.health()).toMatchObject({
      status: "degraded",
      lastCode: "bad_signature",
      notes: [
        "the standby test:dublin has signed since 2026-03-01T08:00:00.000Z: test:frankfurt failed (bad_signature)",
      ],
    });
  });

  test("costs one call in 30 s if it is the first place", async () => {
    const { bare, behaviours } = frankfurtAndDublin(down, signs);
    const entry = createKeySet([{ signer: guardSigner(bare) }]).active;
    const signature = signWith(entry, INPUT);
    await vi.advanceTimersByTimeAsync(30_000);
    await signature;
    behaviours.frankfurt = wrongKey;
    expect(await failure(signWith(entry, INPUT))).toMatchObject({ code: "bad_signature" });
    for (let round = 0; round < 3; round += 1) await signWith(entry, INPUT);
  });

  test("is left by the place that it names itself, such as a session", async () => {
    const { signer } = scriptedSigner();
    const session = { uri: "test:session" };
    const badly = createSigner({
      uri: "test:first",
      publicKey: signer.publicKey,
      signDigest: async (digest) => markPlace(await scriptedSigner().signer.sign(digest), session),
      close: async () => {},
    });
    const entry = createKeySet([{ signer: guardSigner(failoverSigner([badly, signer])) }]).active;
    expect(await failure(signWith(entry, INPUT))).toMatchObject({ code: "bad_signature", uri: "test:session" });
    await signWith(entry, INPUT);
  });
});

describe("a place whose signature has the wrong form", () => {
  const refuses = fails(() => new SignerError("bad_signature", "r is zero"));
  test.each<[string, Behaviour]>([
    ["is too short", answers(new Uint8Array(10))],
    ["is zero", answers(new Uint8Array(64))],
    ["was refused by its own adapter", refuses],
  ])("is left for the next one: it %s", async (_form, badly) => {
    const guard = guardSigner(frankfurtAndDublin(badly, signs).bare);
    expect(await failure(guard.sign(DIGEST))).toMatchObject({ code: "bad_signature", uri: "test:frankfurt" });
    expect(await guard.sign(DIGEST)).toHaveLength(64);
    expect(guard.health()).toMatchObject({ status: "degraded", lastCode: "bad_signature" });
  });

  test("does not bring the others back, where it is the first", async () => {
    const { bare, behaviours } = frankfurtAndDublin(down, signs);
    const guard = guardSigner(bare);
    const signature = guard.sign(DIGEST);
    await vi.advanceTimersByTimeAsync(30_000);
    await signature;
    behaviours.frankfurt = answers(new Uint8Array(10));
    const [probing, other] = [guard.sign(DIGEST), guard.sign(DIGEST)];
    await vi.advanceTimersByTimeAsync(1000);
    expect([await probing, await other]).toEqual([expect.any(Uint8Array), expect.any(Uint8Array)]);
    await guard.sign(DIGEST);
  });
});

describe('verify: "first"', () => {
  test("takes a proof back when a signature of its place is bad", async () => {
    const { signer } = scriptedSigner(signs, wrongKey);
    const entry = createKeySet([{ signer: guardSigner(signer) }]).active;
    await signWith(entry, INPUT, { verify: "first" });
    expect(await failure(signWith(entry, INPUT, { verify: "always" }))).toMatchObject({ code: "bad_signature" });
    expect(await failure(signWith(entry, INPUT, { verify: "first" }))).toMatchObject({ code: "bad_signature" });
  });

  test("proves the standby too: its claimed key may be wrong", async () => {
    const { bare, behaviours } = frankfurtAndDublin(signs, wrongKey);
    const [entry] = [createKeySet([{ signer: guardSigner(bare) }]).active];
    await signWith(entry, INPUT, { verify: "first" });
    behaviours.frankfurt = down;
    const failed = failure(signWith(entry, INPUT, { verify: "first" }));
    await vi.advanceTimersByTimeAsync(1000);
    expect(await failed).toMatchObject({ code: "bad_signature", uri: "test:dublin" });
  });

  test("proves the place that made each signature, also when calls overlap with a change of place", async () => {
    let answer: () => void = () => {};
    const slow: Behaviour = (call) => new Promise((resolve) => (answer = () => resolve(call.sign())));
    const { bare, behaviours } = frankfurtAndDublin(signs, wrongKey);
    const keys = createKeySet([{ signer: guardSigner(bare) }]);
    behaviours.frankfurt = slow;
    const first = signJwt(keys, {}, { verify: "first" });
    await vi.advanceTimersByTimeAsync(0);
    behaviours.frankfurt = down;
    const second = failure(signJwt(keys, {}, { verify: "first" }));
    await vi.advanceTimersByTimeAsync(500);
    answer();
    await first;
    expect(await second).toMatchObject({ code: "bad_signature" });
  });

  test("proves each place of a signer that names its places itself", async () => {
    const { signer } = scriptedSigner();
    const [old, next] = [{ uri: "test:session-1" }, { uri: "test:session-2" }];
    let place = old;
    const own = createSigner({
      uri: "test:sessions",
      publicKey: signer.publicKey,
      signDigest: async (digest) =>
        markPlace(await (place === old ? signer.sign(digest) : scriptedSigner().signer.sign(digest)), place),
      close: async () => {},
    });
    const entry = createKeySet([{ signer: guardSigner(own) }]).active;
    await signWith(entry, INPUT, { verify: "first" });
    place = next;
    expect(await failure(signWith(entry, INPUT, { verify: "first" }))).toMatchObject({ uri: "test:session-2" });
  });

  test.each([
    ["bare", (bare: Signer) => bare],
    ["guarded", guardSigner],
  ])("proves each signer that one written by hand asks, which are %s", async (_form, form) => {
    const { signer } = scriptedSigner();
    const madeBy = (uri: string, sign: Signer["sign"]): Signer =>
      form(createSigner({ uri, publicKey: signer.publicKey, signDigest: sign, close: async () => {} }));
    const good = madeBy("test:good", signer.sign);
    const bad = madeBy("test:bad", (digest) => scriptedSigner().signer.sign(digest));
    let asked = good;
    const byHand: Signer = { ...signer, sign: (digest, options) => asked.sign(digest, options) };
    const entry = createKeySet([{ signer: byHand }]).active;
    await signWith(entry, INPUT, { verify: "first" });
    asked = bad;
    expect(await failure(signWith(entry, INPUT, { verify: "first" }))).toMatchObject({
      code: "bad_signature",
      uri: "test:bad",
    });
  });
});
