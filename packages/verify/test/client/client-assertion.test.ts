import { createMemoryReplayStore, createStaticKeySet, verifyClientAssertion, VerifyError } from "@signpost/verify";
import type { ClientAssertionOptions, KeyFunction, ReplayStore } from "@signpost/verify";
import { SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { testKey } from "../support/keys.ts";
import { fakeClock } from "../support/remote.ts";

// private_key_jwt: RFC 7523 section 3.

const issuer = "https://op.example";
const now = Math.floor(Date.now() / 1000);
const key = testKey("k");
const other = testKey("k");
const clients = new Map<string, KeyFunction>([
  ["client", createStaticKeySet({ keys: [key.jwk] })],
  ["other", createStaticKeySet({ keys: [other.jwk] })],
]);

const claims = (change: Record<string, unknown> = {}): Record<string, unknown> => ({
  iss: "client",
  sub: "client",
  aud: issuer,
  exp: now + 60,
  jti: "1",
  ...change,
});

function options(change: Partial<ClientAssertionOptions> = {}): ClientAssertionOptions {
  return {
    issuer,
    keysOf: (id) => clients.get(id),
    replayStore: createMemoryReplayStore(),
    now: () => now * 1000,
    ...change,
  };
}

const sign = (change?: Record<string, unknown>, typ?: string): Promise<string> =>
  new SignJWT(claims(change))
    .setProtectedHeader({ alg: "ES256", kid: "k", ...(typ === undefined ? {} : { typ }) })
    .sign(key.privateKey);

describe("a client assertion", () => {
  it("names the client", async () => {
    await expect(verifyClientAssertion(await sign(), options())).resolves.toEqual({
      clientId: "client",
      claims: claims(),
    });
  });

  it.each([[undefined], ["JWT"], ["client-authentication+jwt"], ["application/client-authentication+jwt"]])(
    "is accepted with typ %s",
    async (typ) => {
      await expect(verifyClientAssertion(await sign({}, typ), options())).resolves.toBeDefined();
    },
  );

  it.each([["oauth-authz-req+jwt"], ["at+jwt"], ["logout+jwt"], ["dpop+jwt"], ["secevent+jwt"]])(
    "is refused with typ %s",
    async (typ) => {
      await expect(verifyClientAssertion(await sign({}, typ), options())).rejects.toMatchObject({
        code: "invalid_typ",
      });
    },
  );

  it.each<[string, Record<string, unknown>, string]>([
    ["no sub", { sub: undefined }, "invalid_claim"],
    ["an empty sub", { sub: "", iss: "" }, "invalid_claim"],
    ["no iss", { iss: undefined }, "client_mismatch"],
    ["iss that is not sub", { iss: "other" }, "client_mismatch"],
    ["an unknown client", { iss: "stranger", sub: "stranger" }, "unknown_client"],
    ["another client's name", { iss: "other", sub: "other" }, "bad_signature"],
    ["no aud", { aud: undefined }, "invalid_audience"],
    ["the token endpoint as aud", { aud: `${issuer}/token` }, "invalid_audience"],
    ["the issuer with a slash as aud", { aud: `${issuer}/` }, "invalid_audience"],
    ["several audiences", { aud: [issuer, "https://other-op.example"] }, "invalid_audience"],
    ["no audience in the list", { aud: [] }, "invalid_audience"],
    ["an audience that is not a string", { aud: [{}] }, "invalid_audience"],
    ["no exp", { exp: undefined }, "invalid_claim"],
    ["exp as text", { exp: String(now + 60) }, "invalid_claim"],
    ["exp in the past", { exp: now - 5 }, "expired"],
    ["exp too far away", { exp: now + 311 }, "lifetime_too_long"],
    ["exp too far from iat", { iat: now - 280, exp: now + 60 }, "lifetime_too_long"],
    ["iat in the future", { iat: now + 11 }, "not_yet_valid"],
    ["nbf in the future", { nbf: now + 11 }, "not_yet_valid"],
    ["nbf as text", { nbf: "now" }, "invalid_claim"],
    ["no jti", { jti: undefined }, "invalid_claim"],
    ["an empty jti", { jti: "" }, "invalid_claim"],
    ["a jti that is not a string", { jti: 1 }, "invalid_claim"],
    ["a jti of more than 1024 characters", { jti: "x".repeat(1025) }, "invalid_claim"],
  ])("is refused with %s", async (_name, change, code) => {
    await expect(verifyClientAssertion(await sign(change), options())).rejects.toMatchObject({
      name: "TokenError",
      code,
    });
  });

  it("is accepted with the issuer as the one member of a list", async () => {
    await expect(verifyClientAssertion(await sign({ aud: [issuer] }), options())).resolves.toBeDefined();
  });

  it.each<[string, unknown, boolean]>([
    ["the token endpoint", `${issuer}/token`, true],
    ["the issuer", issuer, true],
    ["what openid-client 4 and 5 send", [issuer, `${issuer}/token`], true],
    ["the same in another order, and twice", [`${issuer}/token`, issuer, issuer], true],
    ["one value that is not allowed among others", [issuer, `${issuer}/token`, "https://other-op.example"], false],
    ["another value alone", `${issuer}/introspect`, false],
    ["no value", [], false],
    ["a value that is not a string among others", [issuer, 7], false],
  ])("with otherAudiences, is judged for %s", async (_name, aud, accepted) => {
    const result = verifyClientAssertion(await sign({ aud }), options({ otherAudiences: [`${issuer}/token`] }));
    if (accepted) await expect(result).resolves.toBeDefined();
    else await expect(result).rejects.toMatchObject({ code: "invalid_audience", claim: "aud" });
  });

  it.each<[string | undefined, boolean]>([
    ["client-authentication+jwt", true],
    ["application/client-authentication+jwt", true],
    ["JWT", false],
    [undefined, false],
  ])("with strictTyp, is judged for typ %s", async (typ, accepted) => {
    const result = verifyClientAssertion(await sign({}, typ), options({ strictTyp: true }));
    if (accepted) await expect(result).resolves.toBeDefined();
    else await expect(result).rejects.toMatchObject({ code: "invalid_typ" });
  });

  it("must be the client of the request", async () => {
    await expect(verifyClientAssertion(await sign(), options({ clientId: "client" }))).resolves.toBeDefined();
    await expect(verifyClientAssertion(await sign(), options({ clientId: "other" }))).rejects.toMatchObject({
      code: "client_mismatch",
    });
  });

  it("may be narrowed to the algorithm that the client registered", async () => {
    await expect(verifyClientAssertion(await sign(), options({ algorithms: ["PS256"] }))).rejects.toMatchObject({
      code: "alg_not_allowed",
    });
    await expect(
      verifyClientAssertion(await sign(), options({ algorithms: ["ES256", "PS256"] })),
    ).resolves.toBeDefined();
    for (const algorithms of [[], ["HS256"], ["ES256", "none"]]) {
      await expect(
        verifyClientAssertion(await sign(), options({ algorithms: algorithms as never })),
      ).rejects.toMatchObject({ argument: "algorithms" });
    }
  });

  // FAPI 2.0 Security Profile section 5.3.2.1: 10 seconds ahead are accepted, more than 60 are refused.
  it.each<[string, Record<string, unknown>]>([
    ["iat", { iat: now + 10 }],
    ["nbf", { nbf: now + 10 }],
    ["iat, and exp at the longest lifetime from there", { iat: now + 10, exp: now + 310 }],
    ["exp 4 s ago", { exp: now - 4 }],
  ])("is accepted where the client's clock is a little off: %s", async (_name, change) => {
    await expect(verifyClientAssertion(await sign(change), options())).resolves.toBeDefined();
  });

  it.each(["iat", "nbf"])("%s may be 60 s ahead if the caller allows it, and no more", async (claim) => {
    const tolerant = options({ clockToleranceSeconds: 60 });
    const result = verifyClientAssertion(await sign({ [claim]: now + 60 }), tolerant);
    await expect(result).resolves.toBeDefined();
    await expect(verifyClientAssertion(await sign({ [claim]: now + 61 }), tolerant)).rejects.toMatchObject({
      code: "not_yet_valid",
    });
  });

  it("may live as long as the caller allows", async () => {
    await expect(
      verifyClientAssertion(await sign({ exp: now + 3600 }), options({ maxLifetimeSeconds: 3600 })),
    ).resolves.toBeDefined();
    for (const maxLifetimeSeconds of [0, Number.NaN, 86_401]) {
      await expect(verifyClientAssertion(await sign(), options({ maxLifetimeSeconds }))).rejects.toMatchObject({
        argument: "maxLifetimeSeconds",
      });
    }
  });

  it("asks for the keys of the client before it reads the kid", async () => {
    const asked: string[] = [];
    const keysOf = (id: string): KeyFunction => {
      asked.push(id);
      return () => Promise.reject(new Error("the kid was read"));
    };
    await expect(verifyClientAssertion(await sign(), options({ keysOf }))).rejects.toThrow("the kid was read");
    expect(asked).toEqual(["client"]);
  });
});

describe("each assertion", () => {
  it("is taken once", async () => {
    const shared = options();
    const jwt = await sign();
    const results = await Promise.allSettled(
      Array.from({ length: 10 }, async () => verifyClientAssertion(jwt, shared)),
    );
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    await expect(verifyClientAssertion(jwt, shared)).rejects.toMatchObject({ code: "replayed", claim: "jti" });
    await expect(verifyClientAssertion(await sign({ jti: "2" }), shared)).resolves.toBeDefined();
  });

  it("may have a jti of 1024 characters", async () => {
    await expect(verifyClientAssertion(await sign({ jti: "x".repeat(1024) }), options())).resolves.toBeDefined();
  });

  it("of another client, or for another issuer, may have the same jti", async () => {
    const shared = options();
    await verifyClientAssertion(await sign(), shared);
    const others = await other.token(claims({ iss: "other", sub: "other" }));
    await expect(verifyClientAssertion(others, shared)).resolves.toMatchObject({ clientId: "other" });
    const elsewhere = await sign({ aud: "https://second.example" });
    await expect(
      verifyClientAssertion(elsewhere, { ...shared, issuer: "https://second.example" }),
    ).resolves.toBeDefined();
  });

  it("that is refused uses up nothing", async () => {
    const shared = options();
    const jwt = await sign();
    await expect(verifyClientAssertion(jwt, { ...shared, now: () => (now + 600) * 1000 })).rejects.toMatchObject({
      code: "expired",
    });
    await expect(verifyClientAssertion(jwt, { ...shared, clientId: "other" })).rejects.toMatchObject({
      code: "client_mismatch",
    });
    await expect(verifyClientAssertion(jwt, shared)).resolves.toBeDefined();
  });

  it("is remembered for a minute longer than it is accepted, whatever the clocks of other replicas say", async () => {
    const seen: unknown[] = [];
    const replayStore: ReplayStore = {
      claim: async (...claimed) => seen.push(claimed) > 0,
      ready: async () => {},
    };
    await verifyClientAssertion(await sign({ jti: "secret jti" }), options({ replayStore, clockToleranceSeconds: 10 }));
    // 60 s until exp, the tolerance within which it would still be accepted, and a minute.
    expect(seen).toEqual([[expect.stringMatching(/^[\w-]{43}$/), 130_000, { clientId: "client" }]]);
  });

  it("is not taken again because the keys of its client came slowly", async () => {
    const clock = fakeClock();
    const elapsed = (): number => clock() - 1000;
    const shared = options({
      replayStore: createMemoryReplayStore({ clock, now: clock.now }),
      now: () => now * 1000 + elapsed(),
    });
    const jwt = await sign();
    await verifyClientAssertion(jwt, shared);
    clock.advanceSeconds(64);
    const keysOf = async (): Promise<KeyFunction | undefined> => {
      clock.advanceSeconds(120);
      return clients.get("client");
    };
    await expect(verifyClientAssertion(jwt, { ...shared, keysOf })).rejects.toMatchObject({ code: "expired" });
  });

  it.each([30, 59])("is not accepted again if the clock was set back by %d s", async (seconds) => {
    const clock = fakeClock();
    const shared = options({ replayStore: createMemoryReplayStore({ clock, now: clock.now }) });
    const jwt = await sign();
    await verifyClientAssertion(jwt, shared);
    clock.advanceSeconds(64 + seconds);
    await expect(verifyClientAssertion(jwt, { ...shared, now: () => (now + 64) * 1000 })).rejects.toMatchObject({
      code: "replayed",
    });
  });

  it.each<[string, unknown]>([
    [
      "throws at once",
      () => {
        throw new Error("down");
      },
    ],
    ["answers with neither true nor false", async () => "OK"],
  ])("is refused where the store %s", async (_name, claim) => {
    const replayStore = { claim, ready: async () => {} } as ReplayStore;
    await expect(verifyClientAssertion(await sign(), options({ replayStore }))).rejects.toMatchObject({
      code: "replay_store_unavailable",
    });
  });

  it("is refused if the clock returns no number", async () => {
    await expect(verifyClientAssertion(await sign(), options({ now: () => Number.NaN }))).rejects.toMatchObject({
      argument: "now",
    });
  });

  it("is refused while the store does not answer", async () => {
    const replayStore: ReplayStore = { claim: () => Promise.reject(new Error("down")), ready: async () => {} };
    await expect(verifyClientAssertion(await sign(), options({ replayStore }))).rejects.toMatchObject({
      code: "replay_store_unavailable",
      message: "the replay store could not check the jti",
      cause: new Error("down"),
    });
  });

  it.each([
    [Object.assign(new Error("connect 10.0.0.1"), { code: "ECONNREFUSED" }), "ECONNREFUSED"],
    [
      new VerifyError("replay_store_unavailable", "Redis cannot store ids: READONLY"),
      "Redis cannot store ids: READONLY",
    ],
  ])("%s of the store: its reason is in the first line", async (failure, reason) => {
    const replayStore: ReplayStore = { claim: () => Promise.reject(failure), ready: async () => {} };
    await expect(verifyClientAssertion(await sign(), options({ replayStore }))).rejects.toMatchObject({
      message: `the replay store could not check the jti: ${reason}`,
      cause: failure,
    });
  });

  it("of one client leaves room in the store's memory for the others", async () => {
    const shared = options({ replayStore: createMemoryReplayStore({ maxEntries: 20 }) });
    for (const jti of ["1", "2"]) await verifyClientAssertion(await sign({ jti }), shared);
    await expect(verifyClientAssertion(await sign({ jti: "3" }), shared)).rejects.toMatchObject({
      code: "replay_store_unavailable",
      message: expect.stringContaining("the replay store holds 2 ids of this client"),
      cause: { code: "replay_store_full" },
    });
    const others = await other.token(claims({ iss: "other", sub: "other" }));
    await expect(verifyClientAssertion(others, shared)).resolves.toMatchObject({ clientId: "other" });
  });

  it("is refused when the store's memory is full", async () => {
    const shared = options({ replayStore: createMemoryReplayStore({ maxEntries: 1 }) });
    await verifyClientAssertion(await sign(), shared);
    await expect(verifyClientAssertion(await sign({ jti: "2" }), shared)).rejects.toMatchObject({
      code: "replay_store_unavailable",
      cause: { code: "replay_store_full" },
    });
  });
});

describe("an error", () => {
  it("holds no claim and no token", async () => {
    for (const change of [
      { aud: "top-secret" },
      { iss: "top-secret" },
      { iss: "top-secret", sub: "top-secret" },
      { exp: "top-secret" },
      { jti: ["top-secret"] },
    ]) {
      const jwt = await sign(change);
      const error = (await verifyClientAssertion(jwt, options()).catch((thrown: unknown) => thrown)) as Error;
      expect(error).toMatchObject({ name: "TokenError" });
      expect(JSON.stringify([error.message, error.stack, error])).not.toContain("top-secret");
      expect(String(error.stack)).not.toContain(jwt.slice(0, 20));
    }
  });
});
