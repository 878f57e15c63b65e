import {
  createClientKeySets,
  createMemoryReplayStore,
  createRemoteKeySet,
  verifyClientAssertion,
  VerifyError,
} from "@signpost/verify";
import type { ClientKeySetsOptions, FetchLike } from "@signpost/verify";
import { describe, expect, it } from "vitest";
import type { FetchLimits } from "../../src/http/fetch-limits.ts";
import { createDroppedLimits } from "../../src/client/dropped-limits.ts";
import { createFetchLimits } from "../../src/http/fetch-limits.ts";
import { testKey } from "../support/keys.ts";
import { fakeClock } from "../support/remote.ts";

// Client ids are public, and anybody can forge an assertion in the name of each. With more of them than `maxClients`, each set is
// dropped before its client is named again: what holds requests back has to outlive it.

const issuer = "https://op.example";
const real = testKey("real");
const forger = testKey("forged");

function setup(answer: () => Promise<Response>, options: ClientKeySetsOptions = {}) {
  const clock = fakeClock();
  const requested: string[] = [];
  const fetch: FetchLike = async (url) => {
    requested.push(url);
    return answer();
  };
  const keySets = createClientKeySets({ maxClients: 100, fetch, clock, now: clock.now, ...options });
  const replayStore = createMemoryReplayStore({ clock, now: clock.now });
  const keysOf = (id: string) => keySets.keysOf(id, { jwksUri: `https://${id}.example/jwks` });

  async function authenticate(clientId: string, key = real): Promise<string> {
    const claims = { iss: clientId, sub: clientId, aud: issuer, jti: crypto.randomUUID() };
    const exp = Math.floor(clock.now() / 1000) + 60;
    const assertion = await key.token({ ...claims, exp });
    try {
      await verifyClientAssertion(assertion, { issuer, keysOf, replayStore, now: clock.now });
      return "authenticated";
    } catch (error) {
      return error instanceof VerifyError ? error.code : "another error";
    }
  }

  /** What a forged assertion asks of the client's keys. */
  const lookUp = async (clientId: string): Promise<string> =>
    keysOf(clientId)({ alg: "ES256", kid: forger.kid }).then(
      () => "found",
      (error: VerifyError) => error.code,
    );

  /** 101 clients in rotation, 505 assertions. */
  async function forge(attempt = lookUp): Promise<Map<string, number>> {
    const outcomes = new Map<string, number>();
    for (let round = 0; round < 5; round += 1) {
      for (let client = 0; client < 101; client += 1) {
        const code = await attempt(`c${client}`);
        outcomes.set(code, (outcomes.get(code) ?? 0) + 1);
      }
    }
    return outcomes;
  }
  return { clock, requested, keysOf, authenticate, lookUp, forge };
}

const published = async () => Response.json({ keys: [real.jwk] });

describe("505 forged assertions for one client more than sets are kept", () => {
  it("cost each client one fetch and one refetch", async () => {
    const { requested, authenticate, forge } = setup(published);
    expect(await forge(async (clientId) => authenticate(clientId, forger))).toEqual(
      new Map([
        ["unknown_kid", 101],
        ["throttled", 404],
      ]),
    );
    expect(requested).toHaveLength(202);
  });

  it("cost each client no refetch if its set was used before", async () => {
    const { requested, clock, forge } = setup(published);
    await forge();
    clock.advanceSeconds(10);
    const before = requested.length;
    await forge();
    // The first request is allowed again, the refetch is not.
    expect(requested.length - before).toBe(101);
  });

  it("cost each client one fetch if its host is down", async () => {
    const { requested, forge } = setup(async () => Promise.reject(new TypeError("fetch failed")));
    expect(await forge()).toEqual(new Map([["fetch_failed", 505]]));
    expect(requested).toHaveLength(101);
  });

  it("cost each client one fetch if its host never answers", async () => {
    const { requested, forge, lookUp } = setup(async () => new Promise<Response>(() => {}), { timeoutMs: 100 });
    const first = await Promise.all(Array.from({ length: 101 }, async (_, client) => lookUp(`c${client}`)));
    expect(new Set(first)).toEqual(new Set(["timeout"]));
    expect(await forge()).toEqual(new Map([["timeout", 505]]));
    expect(requested).toHaveLength(101);
  });

  it("hold a client up for ten seconds", async () => {
    const { authenticate, clock, forge } = setup(published);
    await forge();
    expect(await authenticate("c0")).toBe("throttled");
    clock.advanceSeconds(10);
    expect(await authenticate("c0")).toBe("authenticated");
    expect(await authenticate("c0")).toBe("authenticated");
  });
});

it("a dropped set says when it can be fetched again, and that it may succeed then", async () => {
  const { keysOf, requested, clock } = setup(published, { maxClients: 1 });
  const header = { alg: "ES256", kid: "real" };
  await keysOf("one")(header);
  clock.advanceSeconds(4);
  await keysOf("two")(header);
  await expect(keysOf("one")(header)).rejects.toMatchObject({
    code: "throttled",
    transient: true,
    retryAfterMs: 6000,
    message: expect.stringContaining("https://one.example/jwks"),
  });
  expect(requested).toHaveLength(2);
});

it("a request that is on its way counts, though its set was dropped", async () => {
  const { keysOf, requested } = setup(async () => new Promise<Response>(() => {}), { maxClients: 1, timeoutMs: 50 });
  const header = { alg: "ES256", kid: "real" };
  const waiting = keysOf("one")(header).catch((error: VerifyError) => error.code);
  await Promise.resolve();
  keysOf("two");
  await expect(keysOf("one")(header)).rejects.toMatchObject({ code: "throttled" });
  expect(requested).toHaveLength(1);
  expect(await waiting).toBe("timeout");
  await expect(keysOf("one")(header)).rejects.toMatchObject({ code: "timeout", retryAfterMs: expect.any(Number) });
});

it("a set is not throttled by its own first request", async () => {
  const clock = fakeClock();
  const answers = [async () => new Promise<Response>(() => {}), published];
  const fetch: FetchLike = async () => (answers.shift() ?? published)();
  const keySet = createRemoteKeySet("https://op.example/jwks", {
    fetch,
    clock,
    now: clock.now,
    minRevalidateIntervalMs: 3_600_000,
    timeoutMs: 50,
  });
  const header = { alg: "ES256", kid: "real" };
  // The machine slept while it was on its way.
  const lost = keySet(header);
  clock.moveWallSeconds(60);
  await expect(keySet(header)).resolves.toBeDefined();
  await expect(lost).resolves.toBeDefined();
});

it("a client that registers another URI is not throttled", async () => {
  const clock = fakeClock();
  const requested: string[] = [];
  const fetch: FetchLike = async (url) => {
    requested.push(url);
    return published();
  };
  const keySets = createClientKeySets({ fetch, clock, now: clock.now });
  const header = { alg: "ES256", kid: "real" };
  const ask = async (jwksUri: string) => keySets.keysOf("one", { jwksUri })(header);
  await ask("https://rp.example/a");
  await ask("https://rp.example/b");
  expect(requested).toHaveLength(2);
  // Going to and fro is.
  await expect(ask("https://rp.example/a")).rejects.toMatchObject({ code: "throttled" });
});

it("minRevalidateIntervalMs: 0 holds no first request back", async () => {
  const { keysOf, requested } = setup(published, { maxClients: 1, minRevalidateIntervalMs: 0 });
  const header = { alg: "ES256", kid: "real" };
  for (const client of ["one", "two", "one", "two"]) await keysOf(client)(header);
  expect(requested).toHaveLength(4);
});

describe("the table of limits", () => {
  function table() {
    const clock = fakeClock();
    const instant = () => ({ monotonic: clock(), wall: clock.now() });
    const create = () => createFetchLimits({ take: () => 0, waitMs: () => 0 });
    return { clock, create, limits: createDroppedLimits({ holdMs: 60_000, instant, create }) };
  }

  it("gives an owner its own limits back, until they hold nothing back", () => {
    const { clock, create, limits } = table();
    const mine = create();
    limits.keep("a", mine);
    expect(limits.take("b")).not.toBe(mine);
    clock.advanceSeconds(59);
    expect(limits.take("a")).toBe(mine);
    expect(limits.take("a")).not.toBe(mine);
    limits.keep("a", mine);
    clock.advanceSeconds(60);
    expect(limits.take("a")).not.toBe(mine);
  });

  it("keeps its rows, however many owners come, and makes the others wait", () => {
    const { clock, create, limits } = table();
    const known = new Map<string, FetchLimits>();
    for (let index = 0; index < 1024; index += 1) known.set(`known-${index}`, create());
    for (const [owner, own] of known) limits.keep(owner, own);
    for (let index = 0; index < 40_000; index += 1) limits.keep(`other-${index}`, create());
    const waiting = Array.from({ length: 100 }, (_, index) => limits.take(`new-${index}`).firstSentAt);
    expect(waiting.filter((since) => since !== undefined).length).toBeGreaterThan(40);
    // A bucket has room for eight: hardly any of these had to share it with more.
    const lost = [...known].filter(([owner, own]) => limits.take(owner) !== own);
    expect(lost.length).toBeLessThan(100);
    clock.advanceSeconds(60);
    expect(limits.take("new").firstSentAt).toBeUndefined();
  });
});
