import { createJwtVerifier } from "@signpost/verify";
import type { IdTokenVerifierOptions } from "@signpost/verify";
import { describe, expect, it } from "vitest";
import { accessToken, accessTokens, API, CLIENT, idToken, idTokens, ISSUER, keys, NOW } from "../support/jwt.ts";

// A missing or misspelled option must never turn off a check.

const GOOD = { type: "id_token", issuer: ISSUER, audience: CLIENT, keys } as const;

describe("createJwtVerifier refuses", () => {
  it.each<[options: object, argument: string]>([
    [{ ...GOOD, type: undefined }, "type"],
    [{ ...GOOD, type: "ID_TOKEN" }, "type"],
    [{ ...GOOD, issuer: undefined }, "issuer"],
    [{ ...GOOD, issuer: "" }, "issuer"],
    [{ ...GOOD, issuer: [ISSUER] }, "issuer"],
    [{ ...GOOD, audience: undefined }, "audience"],
    [{ ...GOOD, audience: null }, "audience"],
    [{ ...GOOD, audience: "" }, "audience"],
    [{ ...GOOD, audience: [] }, "audience"],
    [{ ...GOOD, audience: [CLIENT, ""] }, "audience"],
    [{ ...GOOD, keys: undefined }, "keys"],
    [{ ...GOOD, keys: { keys: [] } }, "keys"],
    [{ ...GOOD, algorithms: [] }, "algorithms"],
    [{ ...GOOD, algorithms: "ES256" }, "algorithms"],
    [{ ...GOOD, algorithms: ["ES256", "none"] }, "algorithms"],
    [{ ...GOOD, algorithms: ["HS256"] }, "algorithms"],
    [{ ...GOOD, algorithms: ["es256"] }, "algorithms"],
    [{ ...GOOD, clockToleranceSeconds: 61 }, "clockToleranceSeconds"],
    [{ ...GOOD, clockToleranceSeconds: Number.NaN }, "clockToleranceSeconds"],
    [{ ...GOOD, maxTokenAgeSeconds: 0 }, "maxTokenAgeSeconds"],
    [{ ...GOOD, maxTokenAgeSeconds: "60" }, "maxTokenAgeSeconds"],
    [{ ...GOOD, now: 1 }, "now"],
    [{ ...GOOD, otherAudiences: "all" }, "otherAudiences"],
    [{ ...GOOD, otherAudiences: [1] }, "otherAudiences"],
    [{ ...GOOD, authorizedParties: "android" }, "authorizedParties"],
    // Lists with holes.
    [{ ...GOOD, algorithms: Object.assign([], { length: 1 }) }, "algorithms"],
    [{ ...GOOD, audience: Object.assign([], { length: 1 }) }, "audience"],
    [{ ...GOOD, otherAudiences: Object.assign([], { length: 1 }) }, "otherAudiences"],
    [{ ...GOOD, type: "access_token", otherAudiences: ["other"] }, "otherAudiences"],
    [{ ...GOOD, type: "access_token", authorizedParties: [] }, "authorizedParties"],
    [{ ...GOOD, audiences: [CLIENT] }, "audiences"],
    [{ ...GOOD, clockTolerance: 5 }, "clockTolerance"],
  ])("%o", (options, argument) => {
    expect(() => createJwtVerifier(options as IdTokenVerifierOptions)).toThrow(
      expect.objectContaining({ name: "ConfigurationError", argument }),
    );
  });

  it("a clock that stands nowhere, when it is read", async () => {
    const verifier = idTokens({ now: () => Number.NaN });
    await expect(verifier.verify(idToken())).rejects.toMatchObject({ name: "ConfigurationError", argument: "now" });
  });
});

const YEAR = 31_622_400;

/** The argument of the error, if there is one. */
async function refusedArgument(call: () => unknown): Promise<unknown> {
  try {
    await call();
    return undefined;
  } catch (error) {
    return (error as { argument?: unknown }).argument;
  }
}

const construction = (name: string) => (value: unknown) => createJwtVerifier({ ...GOOD, [name]: value });

it.each<[option: string, call: (value: unknown) => unknown, min: number, max: number]>([
  ["clockToleranceSeconds", construction("clockToleranceSeconds"), 0, 60],
  ["maxTokenAgeSeconds", construction("maxTokenAgeSeconds"), 1, YEAR],
  [
    "maxAgeSeconds",
    async (value) => idTokens().verify(idToken({ auth_time: NOW }), { maxAgeSeconds: value } as never),
    0,
    YEAR,
  ],
])("%s is taken within its bounds alone", async (option, call, min, max) => {
  for (const value of [min, min + 0.5, max])
    expect([value, await refusedArgument(() => call(value))]).toEqual([value, undefined]);
  for (const value of [min - 0.5, min - 1, max + 0.5, max + 1, Number.NaN])
    expect([value, await refusedArgument(() => call(value))]).toEqual([value, option]);
});

it.each(["read", "a-b:c/d", "!#$%&'()*+,-./09:;<=>?@AZ[]^_`az{|}~"])("verify takes the scope %s", async (scope) => {
  await expect(accessTokens().verify(accessToken({ scope }), { scopes: [scope] })).resolves.toBeDefined();
});

it.each(["a b", " a", "a ", 'a"', '"a', "a\\", "\\a", "a\x7f", "\x7fa", "a\n", "\na", "é", ""])(
  "verify refuses the scope %j",
  async (scope) => {
    const call = async () => accessTokens().verify(accessToken(), { scopes: ["read", scope] });
    expect(await refusedArgument(call)).toBe("scopes");
  },
);

it("createJwtVerifier reads its lists once", async () => {
  const audience = [CLIENT];
  const verifier = idTokens({ audience });
  audience.push("other");
  await expect(verifier.verify(idToken({ aud: "other" }))).rejects.toMatchObject({ code: "invalid_audience" });
});

describe("verify refuses", () => {
  it.each<[options: object, argument: string]>([
    [{ nonce: undefined }, "nonce"],
    [{ nonce: "" }, "nonce"],
    [{ nonce: null }, "nonce"],
    [{ maxAgeSeconds: undefined }, "maxAgeSeconds"],
    [{ maxAgeSeconds: -1 }, "maxAgeSeconds"],
    [{ maxAgeSeconds: "60" }, "maxAgeSeconds"],
    [{ accessToken: undefined }, "accessToken"],
    [{ code: undefined }, "code"],
    [{ signal: {} }, "signal"],
    [{ scopes: ["a"] }, "scopes"],
    [{ Nonce: "n" }, "Nonce"],
  ])("for an ID token %o", async (options, argument) => {
    await expect(idTokens().verify(idToken(), options)).rejects.toMatchObject({ name: "ConfigurationError", argument });
  });

  it.each<[options: object, argument: string]>([
    [{ scopes: undefined }, "scopes"],
    [{ scopes: [] }, "scopes"],
    [{ scopes: "read" }, "scopes"],
    [{ scopes: ["read write"] }, "scopes"],
    [{ scopes: [""] }, "scopes"],
    // A hole is no scope, so it would ask for nothing.
    [{ scopes: Object.assign([], { length: 1 }) }, "scopes"],
    [{ scope: ["read"] }, "scope"],
    [{ nonce: "n" }, "nonce"],
  ])("for an access token %o", async (options, argument) => {
    await expect(accessTokens().verify(accessToken(), options)).rejects.toMatchObject({ argument });
  });
});

it("verify takes no options, an empty object, and a signal that never aborts", async () => {
  const { signal } = new AbortController();
  for (const options of [undefined, {}, { signal }, { signal: undefined }]) {
    await expect(idTokens().verify(idToken(), options)).resolves.toBeDefined();
    await expect(accessTokens({ audience: [API] }).verify(accessToken(), options)).resolves.toBeDefined();
  }
});
