import { createHash } from "node:crypto";
import type { VerifyIdTokenOptions } from "@signpost/verify";
import { describe, expect, expectTypeOf, it } from "vitest";
import {
  ACCESS_CLAIMS,
  accessToken,
  accessTokens,
  API,
  CLIENT,
  ID_CLAIMS,
  idToken,
  idTokens,
  NOW,
} from "../support/jwt.ts";

// What the claims of each type of token must be.

const EVENTS = { "http://schemas.openid.net/event/backchannel-logout": {} };
const half = (text: string): string => createHash("sha256").update(text).digest().subarray(0, 16).toString("base64url");

type Claims = Readonly<Record<string, unknown>>;
type Row = readonly [what: string, claims: Claims, code: string, claim: string];

/** OpenID Connect Core 1.0 section 3.1.3.7 and RFC 9068 section 4 share these. */
const BOTH: readonly Row[] = [
  ["no iss", { iss: undefined }, "invalid_issuer", "iss"],
  ["another iss", { iss: "https://other.example" }, "invalid_issuer", "iss"],
  ["iss with a slash", { iss: "https://op.example/" }, "invalid_issuer", "iss"],
  ["iss in a list", { iss: ["https://op.example"] }, "invalid_issuer", "iss"],
  ["no aud", { aud: undefined }, "invalid_audience", "aud"],
  ["another aud", { aud: "other" }, "invalid_audience", "aud"],
  ["an empty list as aud", { aud: [] }, "invalid_audience", "aud"],
  ["a number in aud", { aud: [CLIENT, API, 1] }, "invalid_audience", "aud"],
  ["an object as aud", { aud: { 0: CLIENT } }, "invalid_audience", "aud"],
  ["no exp", { exp: undefined }, "invalid_claim", "exp"],
  ["exp as text", { exp: String(NOW + 300) }, "invalid_claim", "exp"],
  ["exp null", { exp: null }, "invalid_claim", "exp"],
  ["exp 5 s ago", { exp: NOW - 5 }, "expired", "exp"],
  ["no iat", { iat: undefined }, "invalid_claim", "iat"],
  ["iat as text", { iat: String(NOW) }, "invalid_claim", "iat"],
  ["iat 11 s ahead", { iat: NOW + 11 }, "not_yet_valid", "iat"],
  ["nbf 11 s ahead", { nbf: NOW + 11 }, "not_yet_valid", "nbf"],
  ["nbf as text", { nbf: "0" }, "invalid_claim", "nbf"],
  ["no sub", { sub: undefined }, "invalid_claim", "sub"],
  ["an empty sub", { sub: "" }, "invalid_claim", "sub"],
  ["sub as a number", { sub: 248_289 }, "invalid_claim", "sub"],
  ["auth_time as text", { auth_time: "0" }, "invalid_claim", "auth_time"],
];

const ID_ONLY: readonly Row[] = [
  ["an aud that is not trusted too", { aud: [CLIENT, "other"], azp: CLIENT }, "invalid_audience", "aud"],
  ["the client twice without azp", { aud: [CLIENT, CLIENT] }, "invalid_claim", "azp"],
  ["another azp", { azp: "other" }, "invalid_claim", "azp"],
  ["azp in a list", { azp: [CLIENT] }, "invalid_claim", "azp"],
  ["nonce as a number", { nonce: 1 }, "invalid_claim", "nonce"],
  ["at_hash as a number", { at_hash: 1 }, "invalid_claim", "at_hash"],
  ["c_hash in a list", { c_hash: ["a"] }, "invalid_claim", "c_hash"],
  ["events of a logout token", { events: EVENTS }, "invalid_claim", "events"],
  ["auth_time 11 s ahead", { auth_time: NOW + 11 }, "not_yet_valid", "auth_time"],
];

const ACCESS_ONLY: readonly Row[] = [
  ["no client_id", { client_id: undefined }, "invalid_claim", "client_id"],
  ["client_id as a number", { client_id: 1 }, "invalid_claim", "client_id"],
  ["no jti", { jti: undefined }, "invalid_claim", "jti"],
  ["an empty jti", { jti: "" }, "invalid_claim", "jti"],
  ["scope in a list", { scope: ["a"] }, "invalid_claim", "scope"],
];

describe("an ID token", () => {
  it.each([...BOTH, ...ID_ONLY])("with %s is refused", async (_what, claims, code, claim) => {
    await expect(idTokens().verify(idToken(claims))).rejects.toMatchObject({
      name: "TokenError",
      code,
      claim,
      transient: false,
    });
  });

  it.each<[what: string, claims: Claims]>([
    ["as it should be", {}],
    ["aud in a list", { aud: [CLIENT] }],
    ["azp", { azp: CLIENT }],
    ["exp 4 s ago, by a clock that is behind", { exp: NOW - 4 }],
    ["iat 10 s ahead, by a clock that is ahead", { iat: NOW + 10 }],
    ["fractions of seconds", { iat: NOW - 0.5, exp: NOW + 0.5 }],
    ["a nonce that nothing expects", { nonce: "n" }],
    ["a hash that nothing checks", { at_hash: "a", c_hash: "b" }],
    ["other claims", { email: "a@example.com", address: { country: "SE" }, __proto__: null }],
  ])("is accepted with %s", async (_what, claims) => {
    const { header, claims: verified } = await idTokens().verify(idToken(claims));
    expect(header).toEqual({ alg: "ES256", kid: "k" });
    expect(verified).toEqual({ ...ID_CLAIMS, ...claims });
  });

  it("may be for several clients of one application", async () => {
    const verifier = idTokens({ audience: ["web", "ios"] });
    await expect(verifier.verify(idToken({ aud: "ios" }))).resolves.toBeDefined();
    await expect(verifier.verify(idToken({ aud: ["web", "ios"], azp: "web" }))).resolves.toBeDefined();
    await expect(verifier.verify(idToken({ aud: CLIENT }))).rejects.toMatchObject({ code: "invalid_audience" });
  });

  it("may be for other audiences that are trusted, and says in azp who got it", async () => {
    const both = { aud: [CLIENT, "other"] };
    for (const otherAudiences of [["other"], "any"] as const) {
      const verifier = idTokens({ otherAudiences });
      await expect(verifier.verify(idToken({ ...both, azp: CLIENT }))).resolves.toBeDefined();
      await expect(verifier.verify(idToken(both))).rejects.toMatchObject({ code: "invalid_claim", claim: "azp" });
      await expect(verifier.verify(idToken({ aud: "other" }))).rejects.toMatchObject({ code: "invalid_audience" });
    }
    const three = idToken({ aud: [CLIENT, "other", "third"], azp: CLIENT });
    await expect(idTokens({ otherAudiences: ["other"] }).verify(three)).rejects.toMatchObject({ claim: "aud" });
  });

  it("may be issued to another client that is named as an authorized party", async () => {
    const verifier = idTokens({ authorizedParties: ["android"] });
    await expect(verifier.verify(idToken({ azp: "android" }))).resolves.toBeDefined();
    await expect(verifier.verify(idToken({ azp: "other" }))).rejects.toMatchObject({ claim: "azp" });
  });

  it.each<[what: string, options: VerifyIdTokenOptions, claims: Claims, claim: string]>([
    ["without the nonce", { nonce: "n" }, {}, "nonce"],
    ["with another nonce", { nonce: "n" }, { nonce: "N" }, "nonce"],
    ["without at_hash", { accessToken: "a" }, {}, "at_hash"],
    ["with the hash of another access token", { accessToken: "a" }, { at_hash: half("b") }, "at_hash"],
    [
      "with the whole hash",
      { accessToken: "a" },
      { at_hash: createHash("sha256").update("a").digest("base64url") },
      "at_hash",
    ],
    ["without c_hash", { code: "a" }, { at_hash: half("a") }, "c_hash"],
    ["with the hash of another code", { code: "a" }, { c_hash: half("b") }, "c_hash"],
    ["without auth_time", { maxAgeSeconds: 60 }, {}, "auth_time"],
  ])("%s is refused if the call asks for it", async (_what, options, claims, claim) => {
    const refused = idTokens().verify(idToken(claims), options);
    await expect(refused).rejects.toMatchObject({ code: "invalid_claim", claim });
    await expect(refused).rejects.not.toThrow(/"?n"?$/);
  });

  it("is accepted with everything that a call asks for", async () => {
    const claims = { nonce: "n", auth_time: NOW - 60, at_hash: half("a"), c_hash: half("c") };
    const options = { nonce: "n", maxAgeSeconds: 60, accessToken: "a", code: "c" };
    await expect(idTokens().verify(idToken(claims), options)).resolves.toMatchObject({ claims });
  });

  it.each([
    [60, NOW - 64, true],
    [60, NOW - 65, false],
    [0, NOW - 4, true],
    [0, NOW - 5, false],
  ])("with a max_age of %d and an auth_time of %d: %s", async (maxAgeSeconds, authTime, accepted) => {
    const verified = idTokens().verify(idToken({ auth_time: authTime }), { maxAgeSeconds });
    if (accepted) await expect(verified).resolves.toBeDefined();
    else await expect(verified).rejects.toMatchObject({ code: "expired", claim: "auth_time" });
  });
});

describe("an access token", () => {
  it.each([...BOTH, ...ACCESS_ONLY])("with %s is refused", async (_what, claims, code, claim) => {
    await expect(accessTokens().verify(accessToken(claims))).rejects.toMatchObject({ name: "TokenError", code, claim });
  });

  it.each<[what: string, claims: Claims]>([
    ["as it should be", {}],
    ["other resource servers in aud", { aud: ["other", API] }],
    ["an azp, a nonce and events, which say nothing here", { azp: "other", nonce: "n", events: EVENTS }],
  ])("is accepted with %s", async (_what, claims) => {
    const { claims: verified } = await accessTokens().verify(accessToken(claims));
    expect(verified).toEqual({ ...ACCESS_CLAIMS, ...claims });
  });

  it("is for any of several names of the resource server", async () => {
    const verifier = accessTokens({ audience: [API, "urn:api"] });
    await expect(verifier.verify(accessToken({ aud: "urn:api" }))).resolves.toBeDefined();
    await expect(verifier.verify(accessToken({ aud: "urn:other" }))).rejects.toMatchObject({
      code: "invalid_audience",
    });
  });

  it.each([
    ["read write", ["read"], true],
    ["read write", ["write", "read"], true],
    ["read write", ["read", "delete"], false],
    ["reader", ["read"], false],
    ["READ", ["read"], false],
    [undefined, ["read"], false],
  ])("that grants %j for the scopes %j: %s", async (scope, scopes, accepted) => {
    const verified = accessTokens().verify(accessToken({ scope }), { scopes });
    if (accepted) await expect(verified).resolves.toBeDefined();
    else await expect(verified).rejects.toMatchObject({ code: "insufficient_scope", claim: "scope", transient: false });
  });
});

describe("both", () => {
  it.each([
    [60, NOW - 64, true],
    [60, NOW - 65, false],
  ])("may be at most %d s old, issued at %d: %s", async (maxTokenAgeSeconds, iat, accepted) => {
    for (const verified of [
      idTokens({ maxTokenAgeSeconds }).verify(idToken({ iat })),
      accessTokens({ maxTokenAgeSeconds }).verify(accessToken({ iat })),
    ]) {
      if (accepted) await expect(verified).resolves.toBeDefined();
      else await expect(verified).rejects.toMatchObject({ code: "expired", claim: "iat" });
    }
  });

  it("follow clockToleranceSeconds, from 0 to 60", async () => {
    await expect(idTokens({ clockToleranceSeconds: 0 }).verify(idToken({ exp: NOW }))).rejects.toMatchObject({
      code: "expired",
    });
    await expect(idTokens({ clockToleranceSeconds: 0 }).verify(idToken({ iat: NOW + 1 }))).rejects.toMatchObject({
      code: "not_yet_valid",
    });
    await expect(idTokens({ clockToleranceSeconds: 60 }).verify(idToken({ exp: NOW - 59 }))).resolves.toBeDefined();
  });

  it("give new claims for each call", async () => {
    const verifier = idTokens();
    const token = idToken();
    const [one, two] = [await verifier.verify(token), await verifier.verify(token)];
    expect(one).toEqual(two);
    expect(one.claims).not.toBe(two.claims);
    expect(one.header).toEqual({ alg: "ES256", kid: "k" });
    expect(Object.getPrototypeOf(one.claims)).toBe(Object.prototype);
  });

  it("have the types that their checks prove", async () => {
    const { claims: id } = await idTokens().verify(idToken());
    const { claims: access } = await accessTokens().verify(accessToken());
    expectTypeOf(id.sub).toEqualTypeOf<string>();
    expectTypeOf(id.nonce).toEqualTypeOf<string | undefined>();
    expectTypeOf(id["email"]).toEqualTypeOf<unknown>();
    expectTypeOf(access.client_id).toEqualTypeOf<string>();
    expectTypeOf(access.aud).toEqualTypeOf<string | readonly string[]>();
    expect([id.exp, access.exp]).toEqual([NOW + 300, NOW + 300]);
  });
});
