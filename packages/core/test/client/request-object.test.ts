import { decodeJwt, decodeProtectedHeader } from "jose";
import { describe, expect, test } from "vitest";
import { createKeySet, signRequestObject } from "@signpost/core";
import { scriptedSigner } from "../support/scripted-signer.ts";

const keys = createKeySet([{ keyId: "rp-1", signer: scriptedSigner().signer }]);
const NOW = Date.parse("2026-06-01T12:00:00Z");
const OPTIONS = { clientId: "rp", issuer: "https://op.example", now: () => NOW };

async function claimsOf(parameters: Record<string, unknown> | URLSearchParams): Promise<Record<string, unknown>> {
  const { jti: _, ...claims } = decodeJwt(await signRequestObject(keys, parameters, OPTIONS));
  return claims;
}

test("a request object has its type, its parties and a minute", async () => {
  const jwt = await signRequestObject(keys, { response_type: "code", scope: "openid" }, OPTIONS);
  expect(decodeProtectedHeader(jwt)).toEqual({ alg: "ES256", kid: "rp-1", typ: "oauth-authz-req+jwt" });
  expect(decodeJwt(jwt)).toEqual({
    iss: "rp",
    aud: "https://op.example",
    client_id: "rp",
    jti: expect.stringMatching(/^[\w-]{22}$/),
    iat: NOW / 1000,
    nbf: NOW / 1000,
    exp: NOW / 1000 + 60,
    response_type: "code",
    scope: "openid",
  });
});

describe("parameters of a query become those of a request object", () => {
  test.each([
    ["text", "scope=openid+profile", { scope: "openid profile" }],
    ["a number", "max_age=0", { max_age: 0 }],
    ["a number that is none", "max_age=1e3", { max_age: "1e3" }],
    ["JSON", `claims=${encodeURIComponent('{"id_token":{"acr":null}}')}`, { claims: { id_token: { acr: null } } }],
    [
      "details",
      `authorization_details=${encodeURIComponent('[{"type":"pay"}]')}`,
      { authorization_details: [{ type: "pay" }] },
    ],
    ["a repeated parameter", "resource=a&resource=b", { resource: ["a", "b"] }],
    ["the client itself", "client_id=rp", {}],
    ["a name that is a member of every object", "constructor=x", { constructor: "x" }],
  ])("%s", async (_, query, expected) => {
    const { iss, aud, iat, nbf, exp, client_id, ...parameters } = await claimsOf(new URLSearchParams(query));
    expect([iss, aud, client_id]).toEqual(["rp", "https://op.example", "rp"]);
    expect([iat, nbf, exp]).toEqual([NOW / 1000, NOW / 1000, NOW / 1000 + 60]);
    expect(parameters).toEqual(expected);
  });
});

describe("what a request object must not have is refused", () => {
  test.each([
    ["request", "not allowed inside a request object"],
    ["request_uri", "not allowed inside a request object"],
    ...["iss", "sub", "aud", "jti", "iat", "nbf", "exp"].map((name) => [
      name,
      "not allowed: the request object sets it",
    ]),
    ["client_id", "expected the client id of the option clientId"],
  ])("%s", async (name, message) => {
    for (const parameters of [{ [name]: "other" }, new URLSearchParams({ [name]: "other" })]) {
      await expect(signRequestObject(keys, parameters, OPTIONS)).rejects.toThrow(`parameters.${name}: ${message}`);
    }
  });

  test.each([
    ["broken JSON", new URLSearchParams("claims={secret"), "parameters.claims: expected JSON"],
    ["a Date", { max_age: new Date() }, "parameters.max_age"],
    ["a list", [], "parameters: expected a plain object"],
  ])("%s, without what it holds", async (_, parameters, message) => {
    const call = signRequestObject(keys, parameters as object as Record<string, unknown>, OPTIONS);
    await expect(call).rejects.toThrow(message);
    await expect(call).rejects.not.toThrow(/secret/);
  });

  test.each([
    ["no client", { issuer: "https://op.example" }, "clientId: expected a non-empty string"],
    ["no issuer", { clientId: "rp" }, "issuer: expected a non-empty string"],
    ["an unknown option", { ...OPTIONS, audience: "x" }, "audience: unknown option"],
  ])("%s", async (_, options, message) => {
    await expect(signRequestObject(keys, {}, options as typeof OPTIONS)).rejects.toThrow(message);
  });
});
