import {
  createMemoryReplayStore,
  createStaticKeySet,
  verifyClientAssertion,
  verifyRequestObject,
} from "@signpost/verify";
import type { RequestObjectOptions } from "@signpost/verify";
import { SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { testKey } from "../support/keys.ts";

// RFC 9101.

const issuer = "https://op.example";
const now = Math.floor(Date.now() / 1000);
const key = testKey("k");
const keyFunction = createStaticKeySet({ keys: [key.jwk] });

const claims = (change: Record<string, unknown> = {}): Record<string, unknown> => ({
  client_id: "client",
  aud: issuer,
  response_type: "code",
  redirect_uri: "https://rp.example/callback",
  ...change,
});

const options = (change: Partial<RequestObjectOptions> = {}): RequestObjectOptions => ({
  issuer,
  clientId: "client",
  keyFunction,
  now: () => now * 1000,
  ...change,
});

const sign = (change?: Record<string, unknown>, typ?: string): Promise<string> =>
  new SignJWT(claims(change))
    .setProtectedHeader({ alg: "ES256", kid: "k", ...(typ === undefined ? {} : { typ }) })
    .sign(key.privateKey);

describe("a request object", () => {
  it.each<[string, Record<string, unknown>]>([
    ["what RFC 9101 asks for", {}],
    ["iss", { iss: "client" }],
    ["times", { iat: now, nbf: now, exp: now + 300 }],
    ["the issuer as the one member of a list", { aud: [issuer] }],
    ["a sub that is a user", { sub: "248289" }],
  ])("gives its parameters with %s", async (_name, change) => {
    await expect(verifyRequestObject(await sign(change), options())).resolves.toEqual({ claims: claims(change) });
  });

  it.each([
    [undefined],
    ["JWT"],
    ["jwt"],
    ["application/jwt"],
    ["oauth-authz-req+jwt"],
    ["application/oauth-authz-req+jwt"],
    ["OAuth-Authz-Req+JWT"],
  ])("is accepted with typ %s", async (typ) => {
    await expect(verifyRequestObject(await sign({}, typ), options())).resolves.toBeDefined();
  });

  it.each([["client-authentication+jwt"], ["at+jwt"], ["dpop+jwt"], [""]])("is refused with typ %j", async (typ) => {
    await expect(verifyRequestObject(await sign({}, typ), options())).rejects.toMatchObject({ code: "invalid_typ" });
  });

  it.each<[string | undefined, boolean]>([
    ["oauth-authz-req+jwt", true],
    ["application/oauth-authz-req+jwt", true],
    ["JWT", false],
    [undefined, false],
  ])("with strictTyp, is judged for typ %s", async (typ, accepted) => {
    const result = verifyRequestObject(await sign({}, typ), options({ strictTyp: true }));
    if (accepted) await expect(result).resolves.toBeDefined();
    else await expect(result).rejects.toMatchObject({ code: "invalid_typ" });
  });

  it("with typ JWT is not a client assertion, and an assertion is not a request object", async () => {
    const assertion = { iss: "client", sub: "client", jti: "1", exp: now + 60 };
    for (const change of [
      assertion,
      { ...assertion, client_id: undefined },
      { ...assertion, sub: "client", iss: undefined },
    ]) {
      await expect(verifyRequestObject(await sign(change, "JWT"), options())).rejects.toMatchObject({
        name: "TokenError",
      });
    }
    const requestObject = await sign({ iss: "client", jti: "1", exp: now + 60 }, "JWT");
    const replayStore = createMemoryReplayStore();
    await expect(
      verifyClientAssertion(requestObject, { issuer, keysOf: () => keyFunction, replayStore }),
    ).rejects.toMatchObject({ claim: "sub" });
  });

  it.each<[string, Record<string, unknown>, string]>([
    ["no client_id", { client_id: undefined }, "client_mismatch"],
    ["another client_id", { client_id: "other" }, "client_mismatch"],
    ["a client_id that is not a string", { client_id: ["client"] }, "client_mismatch"],
    ["another iss", { iss: "other" }, "client_mismatch"],
    ["the client as sub", { sub: "client" }, "invalid_claim"],
    ["a request inside", { request: "a.b.c" }, "invalid_claim"],
    ["a request_uri inside", { request_uri: "urn:x" }, "invalid_claim"],
    ["a request of null inside", { request: null }, "invalid_claim"],
    ["no aud", { aud: undefined }, "invalid_audience"],
    ["another aud", { aud: `${issuer}/authorize` }, "invalid_audience"],
    ["several audiences", { aud: [issuer, "https://other.example"] }, "invalid_audience"],
    ["exp in the past", { exp: now - 5 }, "expired"],
    ["exp as text", { exp: "later" }, "invalid_claim"],
    ["nbf in the future", { nbf: now + 11 }, "not_yet_valid"],
    ["iat in the future", { iat: now + 11 }, "not_yet_valid"],
  ])("is refused with %s", async (_name, change, code) => {
    await expect(verifyRequestObject(await sign(change), options())).rejects.toMatchObject({
      name: "TokenError",
      code,
    });
  });

  it("must expire within the limit that the caller sets", async () => {
    const limited = options({ maxLifetimeSeconds: 600 });
    await expect(verifyRequestObject(await sign({ iat: now, exp: now + 600 }), limited)).resolves.toBeDefined();
    await expect(verifyRequestObject(await sign(), limited)).rejects.toMatchObject({
      code: "invalid_claim",
      claim: "exp",
    });
    await expect(verifyRequestObject(await sign({ exp: now + 611 }), limited)).rejects.toMatchObject({
      code: "lifetime_too_long",
    });
  });

  // FAPI 2.0 Message Signing section 5.3.1: at most an hour after nbf, so that an nbf of more than an hour ago has ended.
  it.each<[string, Record<string, unknown>, boolean]>([
    ["an hour from nbf", { nbf: now - 1800, exp: now + 1800 }, true],
    ["more than an hour from nbf", { nbf: now - 3600, exp: now + 300 }, false],
    ["more than an hour from iat, and less from nbf", { iat: now - 3600, nbf: now, exp: now + 300 }, false],
    ["an hour from now, and an nbf to come", { nbf: now + 8, exp: now + 3600 }, true],
  ])("is judged by its lifetime for %s", async (_name, change, accepted) => {
    const result = verifyRequestObject(await sign(change), options({ maxLifetimeSeconds: 3600 }));
    if (accepted) await expect(result).resolves.toBeDefined();
    else await expect(result).rejects.toMatchObject({ code: "lifetime_too_long", claim: "exp" });
  });

  it.each<[string, unknown, boolean]>([
    ["the issuer", issuer, true],
    ["the issuer among others", ["https://other.example", issuer], true],
    ["others alone", ["https://other.example", `${issuer}/`], false],
    ["none", undefined, false],
    ["an empty list", [], false],
    ["the issuer and what is no text", [issuer, 7], false],
    ["the issuer in a list of lists", [[issuer]], false],
  ])("with allowOtherAudiences, is judged for %s", async (_name, aud, accepted) => {
    const result = verifyRequestObject(await sign({ aud }), options({ allowOtherAudiences: true }));
    if (accepted) await expect(result).resolves.toBeDefined();
    else await expect(result).rejects.toMatchObject({ code: "invalid_audience", claim: "aud" });
  });

  it("needs the client_id of the request", async () => {
    await expect(verifyRequestObject(await sign({ client_id: "" }), options({ clientId: "" }))).rejects.toMatchObject({
      argument: "clientId",
    });
  });
});
