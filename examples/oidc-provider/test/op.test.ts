import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from "jose";
import * as client from "openid-client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createRotationSchedule, type RotationSchedule } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { type RunningOp, startOp } from "../src/op.ts";
import { logIn } from "./support.ts";

const HOUR = 3_600_000;
const FIRST = Date.parse("2026-01-01T00:00:00Z");
const REDIRECT_URI = "https://rp.example/callback";
const at = (hours: number): string => new Date(FIRST + hours * HOUR).toISOString();

let hours = 1;
let schedule: RotationSchedule;
let op: RunningOp;

beforeAll(async () => {
  schedule = createRotationSchedule(
    [
      { keyId: "a", signer: await openLocalSigner(), announcedFrom: at(0), activeFrom: at(0) },
      { keyId: "b", signer: await openLocalSigner(), announcedFrom: at(10), activeFrom: at(15) },
    ],
    { maxTokenLifetimeSeconds: 3600, now: () => FIRST + hours * HOUR },
  );
  op = await startOp({
    port: 0,
    schedule,
    configuration: {
      clients: [{ client_id: "rp", redirect_uris: [REDIRECT_URI], token_endpoint_auth_method: "none" }],
    },
  });
});
afterAll(() => op.close());

async function newIdToken(): Promise<string> {
  const config = await client.discovery(
    new URL(op.issuer),
    "rp",
    { id_token_signed_response_alg: "ES256" },
    client.None(),
    { execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks] },
  );
  const pkceCodeVerifier = client.randomPKCECodeVerifier();
  const callback = await logIn(
    client.buildAuthorizationUrl(config, {
      redirect_uri: REDIRECT_URI,
      scope: "openid",
      state: "s",
      code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: "S256",
    }),
  );
  const tokens = await client.authorizationCodeGrant(config, callback, { pkceCodeVerifier, expectedState: "s" });
  return tokens.id_token ?? "";
}

async function published(): Promise<JSONWebKeySet> {
  return (await (await fetch(`${op.issuer}/jwks`)).json()) as JSONWebKeySet;
}

describe("the oidc-provider example", () => {
  test("an RP logs a user in, and verifies the ID token with the published key", async () => {
    const { payload } = await jwtVerify(await newIdToken(), createLocalJWKSet(await published()), {
      issuer: op.issuer,
      audience: "rp",
    });
    expect(payload.sub).toBe("jane");
  });

  test("the next key of the schedule signs without a new Provider", async () => {
    const before = await newIdToken();
    hours = 15;
    const after = await newIdToken();
    expect([before, after].map((token) => decodeProtectedHeader(token).kid)).toEqual(["a", "b"]);
    const keys = createLocalJWKSet(await published());
    await expect(Promise.all([before, after].map((token) => jwtVerify(token, keys)))).resolves.toHaveLength(2);
  });

  test("the key set has the endpoint's exact headers, in the mode of the schedule", async () => {
    hours = 16;
    const response = await fetch(`${op.issuer}/jwks`);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "application/jwk-set+json",
      "cache-control": "public, max-age=300, must-revalidate",
      allow: "GET, HEAD",
    });
    const etag = response.headers.get("etag") ?? "";
    const cached = await fetch(`${op.issuer}/jwks`, { headers: { "if-none-match": etag } });
    expect([cached.status, cached.headers.get("content-type"), await cached.text()]).toEqual([304, null, ""]);
  });
});
