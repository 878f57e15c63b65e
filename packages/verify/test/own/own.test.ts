import { createPublicKey } from "node:crypto";
import { createKeySet, createRotationSchedule, signJwt } from "@signpost/core";
import type { JwtClaims, KeySet, PublishedKey } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { createOwnKeySet, verifyOwnJwt } from "@signpost/verify";
import type { VerifyOwnJwtOptions } from "@signpost/verify";
import { jwtVerify, SignJWT } from "jose";
import { beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { testKey } from "../support/keys.ts";

// How the OP verifies tokens that it issued.

const issuer = "https://op.example";
const now = Math.floor(Date.now() / 1000);
const legacy = testKey("legacy", "RS256");
const encryption = testKey("enc");

let before: KeySet;
let after: KeySet;
let afterNext: KeySet;
let withdrawn: readonly PublishedKey[];

beforeAll(async () => {
  const [one, two, three] = await Promise.all([openLocalSigner(), openLocalSigner(), openLocalSigner()]);
  before = createKeySet([{ keyId: "one", signer: one }]);
  after = createKeySet(
    [
      { keyId: "two", signer: two },
      { keyId: "one", signer: one },
    ],
    {
      legacyVerificationKeys: [
        { keyId: "legacy", alg: "RS256", publicKey: createPublicKey(legacy.privateKey).export({ format: "jwk" }) },
      ],
      encryptionKeyset: [{ keyId: "enc", publicKey: createPublicKey(encryption.privateKey).export({ format: "jwk" }) }],
    },
  );
  afterNext = createKeySet([
    { keyId: "three", signer: three },
    { keyId: "two", signer: two },
  ]);
  withdrawn = before.keys;
});

const accessClaims = (): JwtClaims => ({
  iss: issuer,
  aud: "https://api.example",
  sub: "s",
  client_id: "c",
  jti: "j",
  iat: now,
  exp: now + 300,
});
const idClaims = (): JwtClaims => ({ iss: issuer, aud: "c", sub: "s", iat: now, exp: now + 300 });
const LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout";
const logoutClaims = (): JwtClaims => ({
  iss: issuer,
  aud: "c",
  sub: "s",
  jti: "j",
  iat: now,
  exp: now + 120,
  events: { [LOGOUT_EVENT]: {} },
});

describe("the own key set", () => {
  it("serves jose with every signing key of the live set", async () => {
    const keySet = createOwnKeySet(after);
    await expect(jwtVerify(await signJwt(after, idClaims()), keySet)).resolves.toBeDefined();
    await expect(jwtVerify(await signJwt(before, idClaims()), keySet)).resolves.toBeDefined();
    await expect(jwtVerify(await legacy.token(), keySet)).resolves.toBeDefined();
  });

  it.each([["ONE"], ["one "], ["three"], [""]])(
    "knows no key for the kid %j, even if the active key made the signature",
    async (kid) => {
      const key = testKey("one");
      const { privateKey } = key;
      const set = createKeySet([{ keyId: "one", signer: await openLocalSigner({ privateKey }) }]);
      const token = await new SignJWT({}).setProtectedHeader({ alg: "ES256", kid }).sign(privateKey);
      await expect(jwtVerify(token, createOwnKeySet(set))).rejects.toMatchObject({
        code: kid === "" ? "missing_kid" : "unknown_kid",
      });
    },
  );

  it("refuses a token without kid, an encryption key, and an alg that is not the key's", async () => {
    const keySet = createOwnKeySet(after);
    await expect(keySet({ alg: "ES256" })).rejects.toMatchObject({ code: "missing_kid" });
    await expect(keySet({ alg: "ES256", kid: "enc" })).rejects.toMatchObject({ code: "unknown_kid" });
    await expect(keySet({ alg: "PS256", kid: "legacy" })).rejects.toMatchObject({ code: "no_suitable_key" });
    await expect(keySet({ alg: "RS256", kid: "two" })).rejects.toMatchObject({ code: "no_suitable_key" });
    await expect(keySet({ alg: "none", kid: "two" })).rejects.toMatchObject({ code: "unsupported_alg" });
  });

  it("follows its source: a key that left the set is untrusted immediately", async () => {
    let current = after;
    const keySet = createOwnKeySet(() => current);
    const token = await signJwt(before, idClaims());
    await expect(jwtVerify(token, keySet)).resolves.toBeDefined();
    current = afterNext;
    await expect(jwtVerify(token, keySet)).rejects.toMatchObject({ code: "unknown_kid" });
  });

  it("takes a list of entries, and reads it once", async () => {
    const signer = await openLocalSigner();
    const entries = [{ keyId: "four", signer }];
    const keyFunction = createOwnKeySet(entries);
    const token = await signJwt(createKeySet(entries), idClaims());
    entries.pop();
    await expect(jwtVerify(token, keyFunction)).resolves.toBeDefined();
  });

  it("takes a schedule with its withdrawn keys, which the option replaces", async () => {
    const [one, two] = [await openLocalSigner(), await openLocalSigner()];
    const start = Date.now();
    const day = (days: number): Date => new Date(start + days * 86_400_000);
    let time = start;
    const schedule = createRotationSchedule(
      [
        { keyId: "one", signer: one, announcedFrom: day(0), activeFrom: day(0) },
        { keyId: "two", signer: two, announcedFrom: day(9), activeFrom: day(10) },
      ],
      { maxTokenLifetimeSeconds: 3600, now: () => time },
    );
    const keyFunction = createOwnKeySet(schedule);
    const token = await signJwt(schedule, idClaims());
    await expect(jwtVerify(token, keyFunction)).resolves.toBeDefined();
    time = day(11).getTime();
    await expect(jwtVerify(token, keyFunction)).rejects.toMatchObject({ code: "unknown_kid" });
    await expect(jwtVerify(token, keyFunction.forIdTokenHint)).resolves.toBeDefined();
    const { forIdTokenHint } = createOwnKeySet(schedule, { withdrawn: () => [] });
    await expect(jwtVerify(token, forIdTokenHint)).rejects.toMatchObject({ code: "unknown_kid" });
  });

  it.each([[undefined], ["keys"], [[]], [{}]])("is not made of %j", (keys) => {
    expect(() => createOwnKeySet(keys as never)).toThrow(
      expect.objectContaining({ name: "ConfigurationError", argument: "keys" }),
    );
  });

  it("passes on what its source throws", async () => {
    const keySet = createOwnKeySet(() => {
      throw new Error("no set now");
    });
    await expect(keySet({ alg: "ES256", kid: "one" })).rejects.toThrow("no set now");
  });
});

/** Options for each purpose, with the set after a rotation and its withdrawn key. */
function options<P extends VerifyOwnJwtOptions["purpose"]>(purpose: P): Extract<VerifyOwnJwtOptions, { purpose: P }>;
function options(purpose: VerifyOwnJwtOptions["purpose"]): VerifyOwnJwtOptions {
  const common = { keyFunction: createOwnKeySet(afterNext, { withdrawn: () => withdrawn }), issuer };
  if (purpose === "access_token") return { ...common, purpose, audience: "https://api.example" };
  if (purpose === "logout_token") return { ...common, purpose, audience: "c" };
  return { ...common, purpose };
}

const sign = (claims: JwtClaims, typ?: string, set: KeySet = afterNext): Promise<string> =>
  signJwt(set, claims, typ === undefined ? { iat: false } : { iat: false, typ });

describe("an access token", () => {
  it("is accepted with all that RFC 9068 requires", async () => {
    const { claims, header, expired } = await verifyOwnJwt(
      await sign(accessClaims(), "at+jwt"),
      options("access_token"),
    );
    expect(claims).toEqual(accessClaims());
    expect(header).toMatchObject({ alg: "ES256", kid: "three", typ: "at+jwt" });
    expect(expired).toBe(false);
  });

  it.each([["at+jwt"], ["AT+JWT"], ["application/at+jwt"]])("is accepted as %s", async (typ) => {
    await expect(verifyOwnJwt(await sign(accessClaims(), typ), options("access_token"))).resolves.toBeDefined();
  });

  it("is accepted for one of several audiences", async () => {
    const token = await sign({ ...accessClaims(), aud: ["https://other.example", "https://api.example"] }, "at+jwt");
    await expect(verifyOwnJwt(token, options("access_token"))).resolves.toBeDefined();
    await expect(
      verifyOwnJwt(token, { ...options("access_token"), audience: ["x", "https://other.example"] }),
    ).resolves.toBeDefined();
  });

  it.each<[string, JwtClaims, string]>([
    ["another issuer", { iss: "https://op.example/" }, "invalid_issuer"],
    ["another audience", { aud: "https://api.example/" }, "invalid_audience"],
    ["an audience that is not a string", { aud: 7 as never }, "invalid_audience"],
    ["an empty audience", { aud: [] }, "invalid_audience"],
    ["exp in the past", { exp: now - 60 }, "expired"],
    ["exp that is not a number", { exp: "soon" as never }, "invalid_claim"],
    ["nbf in the future", { nbf: now + 60 }, "not_yet_valid"],
    ["iat in the future", { iat: now + 60 }, "not_yet_valid"],
    ["sub that is empty", { sub: "" }, "invalid_claim"],
    ["client_id that is not a string", { client_id: 7 }, "invalid_claim"],
  ])("is refused with %s", async (_name, change, code) => {
    const claims = { ...accessClaims(), ...change };
    // Signed by jose, since core refuses to sign times that are no numbers.
    const { privateKey } = wrongKey;
    const token = await new SignJWT({ ...claims, aud: claims.aud as string })
      .setProtectedHeader({ alg: "ES256", kid: "one", typ: "at+jwt" })
      .sign(privateKey);
    const set = createKeySet([{ keyId: "one", signer: await openLocalSigner({ privateKey }) }]);
    await expect(
      verifyOwnJwt(token, { ...options("access_token"), keyFunction: createOwnKeySet(set) }),
    ).rejects.toMatchObject({ code });
  });

  it.each(["exp", "iat", "sub", "client_id", "jti", "aud", "iss"])("is refused without %s", async (claim) => {
    const { [claim]: _left, ...claims } = accessClaims();
    const result = verifyOwnJwt(await sign(claims, "at+jwt"), options("access_token"));
    await expect(result).rejects.toMatchObject({ name: "TokenError", claim });
  });

  it("is refused with a withdrawn key, even if there is only the active key", async () => {
    await expect(
      verifyOwnJwt(await sign(accessClaims(), "at+jwt", before), options("access_token")),
    ).rejects.toMatchObject({ code: "unknown_kid" });
  });

  it("is accepted a little after exp if clocks may differ", async () => {
    const token = await sign({ ...accessClaims(), exp: now - 30 }, "at+jwt");
    await expect(verifyOwnJwt(token, options("access_token"))).rejects.toMatchObject({ code: "expired" });
    await expect(verifyOwnJwt(token, { ...options("access_token"), clockToleranceSeconds: 60 })).resolves.toBeDefined();
    await expect(
      verifyOwnJwt(token, { ...options("access_token"), now: () => (now - 60) * 1000 }),
    ).rejects.toMatchObject({ code: "not_yet_valid" });
    await expect(verifyOwnJwt(token, { ...options("access_token"), clockToleranceSeconds: 61 })).rejects.toMatchObject({
      argument: "clockToleranceSeconds",
    });
  });

  it("is accepted if its iat and nbf are a little ahead", async () => {
    const ahead = { iat: now + 9, nbf: now + 9, exp: now + 600 };
    await expect(
      verifyOwnJwt(await sign({ ...accessClaims(), ...ahead }, "at+jwt"), options("access_token")),
    ).resolves.toBeDefined();
  });

  it("is refused with any other signature", async () => {
    const [header, payload] = (await sign(accessClaims(), "at+jwt")).split(".");
    const [, , other] = (await sign(accessClaims(), "at+jwt")).split(".");
    const forged = await new SignJWT({ ...accessClaims(), aud: "https://api.example" })
      .setProtectedHeader({ alg: "ES256", kid: "three", typ: "at+jwt" })
      .sign(wrongKey.privateKey);
    await expect(verifyOwnJwt(forged, options("access_token"))).rejects.toMatchObject({ code: "bad_signature" });
    await expect(
      verifyOwnJwt(`${header}.${payload}.${other?.slice(0, -2)}AA`, options("access_token")),
    ).rejects.toMatchObject({ name: "TokenError" });
    await expect(verifyOwnJwt(`${header}.${payload}.`, options("access_token"))).rejects.toMatchObject({
      code: "bad_signature",
    });
  });
});

describe("a logout token", () => {
  it("is accepted with sub, sid or both", async () => {
    const { sub: _sub, ...withoutSub } = logoutClaims();
    for (const claims of [logoutClaims(), { ...logoutClaims(), sid: "x" }, { ...withoutSub, sid: "x" }]) {
      await expect(verifyOwnJwt(await sign(claims, "logout+jwt"), options("logout_token"))).resolves.toMatchObject({
        expired: false,
        claims,
      });
    }
  });

  it.each<[string, JwtClaims]>([
    ["a nonce", { nonce: "n" }],
    ["no logout event", { events: { other: {} } }],
    ["an event that is not an object", { events: { [LOGOUT_EVENT]: true } }],
    ["events that are not an object", { events: [LOGOUT_EVENT] }],
    ["an empty jti", { jti: "" }],
    ["a sid that is not a string", { sid: 7 }],
  ])("is refused with %s", async (_name, change) => {
    const token = await sign({ ...logoutClaims(), ...change }, "logout+jwt");
    await expect(verifyOwnJwt(token, options("logout_token"))).rejects.toMatchObject({ code: "invalid_claim" });
  });

  it("is refused without sub and sid, after exp, and for another client", async () => {
    const { sub: _sub, ...withoutSub } = logoutClaims();
    await expect(verifyOwnJwt(await sign(withoutSub, "logout+jwt"), options("logout_token"))).rejects.toMatchObject({
      claim: "sub",
    });
    await expect(
      verifyOwnJwt(await sign({ ...logoutClaims(), exp: now - 60 }, "logout+jwt"), options("logout_token")),
    ).rejects.toMatchObject({ code: "expired" });
    await expect(
      verifyOwnJwt(await sign(logoutClaims(), "logout+jwt"), { ...options("logout_token"), audience: "d" }),
    ).rejects.toMatchObject({ code: "invalid_audience" });
  });
});

describe("an id_token_hint", () => {
  it("is accepted after it expired, and says so", async () => {
    const token = await sign({ ...idClaims(), iat: now - 90_000, exp: now - 86_400 });
    await expect(verifyOwnJwt(token, options("id_token_hint"))).resolves.toMatchObject({ expired: true });
    await expect(verifyOwnJwt(await sign(idClaims()), options("id_token_hint"))).resolves.toMatchObject({
      expired: false,
    });
  });

  it("is accepted under a withdrawn key, for hints alone", async () => {
    const token = await sign(idClaims(), undefined, before);
    await expect(verifyOwnJwt(token, options("id_token_hint"))).resolves.toMatchObject({ header: { kid: "one" } });
    await expect(jwtVerify(token, options("id_token_hint").keyFunction)).rejects.toMatchObject({ code: "unknown_kid" });
    await expect(
      verifyOwnJwt(token, { ...options("id_token_hint"), keyFunction: createOwnKeySet(afterNext) }),
    ).rejects.toMatchObject({ code: "unknown_kid" });
  });

  it.each([
    ["an async function", async () => []],
    ["one that rejects", async () => Promise.reject(new Error("no database"))],
    ["a set", () => new Set()],
    ["nothing", () => undefined],
  ])("does not end the process if the withdrawn keys come from %s", async (_name, wrong) => {
    const unhandled = vi.fn<() => void>();
    process.on("unhandledRejection", unhandled);
    onTestFinished(() => void process.off("unhandledRejection", unhandled));
    const keyFunction = createOwnKeySet(afterNext, { withdrawn: wrong as never });
    const token = await sign(idClaims(), undefined, before);
    await expect(verifyOwnJwt(token, { ...options("id_token_hint"), keyFunction })).rejects.toMatchObject({
      name: "ConfigurationError",
      argument: "withdrawn",
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(unhandled).not.toHaveBeenCalled();
  });

  it("is checked for its client if the request names one", async () => {
    const token = await sign(idClaims());
    await expect(verifyOwnJwt(token, { ...options("id_token_hint"), audience: "c" })).resolves.toBeDefined();
    await expect(verifyOwnJwt(token, { ...options("id_token_hint"), audience: "d" })).rejects.toMatchObject({
      code: "invalid_audience",
    });
  });

  it.each<[string, JwtClaims, string]>([
    ["another issuer", { iss: "https://evil.example" }, "invalid_issuer"],
    ["iat in the future", { iat: now + 60 }, "not_yet_valid"],
    ["an empty sub", { sub: "" }, "invalid_claim"],
  ])("is refused with %s", async (_name, change, code) => {
    await expect(
      verifyOwnJwt(await sign({ ...idClaims(), ...change }), options("id_token_hint")),
    ).rejects.toMatchObject({ code });
  });
});

describe("a token of one kind", () => {
  const kinds = [
    ["access_token", accessClaims, "at+jwt"],
    ["logout_token", logoutClaims, "logout+jwt"],
    ["id_token_hint", idClaims, undefined],
  ] as const;
  const pairs = kinds.flatMap(([made, claims, typ]) =>
    kinds.filter(([purpose]) => purpose !== made).map(([purpose]) => [made, purpose, claims, typ] as const),
  );

  it.each(pairs)("%s is never taken for %s", async (_made, purpose, claims, typ) => {
    const token = await sign({ ...accessClaims(), ...claims() }, typ);
    await expect(verifyOwnJwt(token, options(purpose))).rejects.toMatchObject({ code: "invalid_typ" });
  });

  it("a logout token without typ is not a hint", async () => {
    await expect(verifyOwnJwt(await sign(logoutClaims()), options("id_token_hint"))).rejects.toMatchObject({
      claim: "events",
    });
  });
});

const wrongKey = testKey("one");
