import * as oauthNewest from "oauth4webapi";
import * as oauthOldest from "oauth4webapi-3.0.0";
import * as clientNewest from "openid-client";
import * as clientOldest from "openid-client-6.1.1";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  type ClientAuthentication,
  clientAuthentication,
  createJwksEndpoint,
  createKeySet,
  type KeySet,
  type Signer,
  SignerError,
  signRequestObject,
} from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { REDIRECT_URI, type Served, serveClientKeys, startOpFor } from "./support/oauth-server.ts";

type Grant = (parameters?: Record<string, string>) => Promise<string>;

let signers: readonly [Signer, Signer, Signer];
let first: KeySet;
let rotated: KeySet;
let current: KeySet;
let keys: Served;
let op: Served;

beforeAll(async () => {
  signers = [await openLocalSigner(), await openLocalSigner(), await openLocalSigner()];
  const [opKey, old, next] = signers;
  // The next key is announced before it signs.
  first = createKeySet([
    { keyId: "rp-1", signer: old },
    { keyId: "rp-2", publicKey: next.publicKey },
  ]);
  rotated = createKeySet([
    { keyId: "rp-2", signer: next },
    { keyId: "rp-1", publicKey: old.publicKey },
  ]);
  keys = await serveClientKeys((issuer) => createJwksEndpoint({ issuer, keys: () => current }));
  op = await startOpFor(keys.url, opKey);
});
beforeEach(() => {
  current = first;
});
afterAll(async () => {
  op.close();
  keys.close();
  for (const signer of signers) await signer.close();
});

/** As openid-client is used, with our function instead of its authentication. */
function withOpenidClient(library: typeof clientNewest) {
  return async (authenticate: ClientAuthentication): Promise<Grant> => {
    const config = await library.discovery(new URL(op.url), "rp", undefined, authenticate, {
      execute: [library.allowInsecureRequests],
    });
    return async () => (await library.clientCredentialsGrant(config)).access_token;
  };
}

function withOauth4webapi(library: typeof oauthNewest) {
  return async (authenticate: ClientAuthentication): Promise<Grant> => {
    const insecure = { [library.allowInsecureRequests]: true };
    const issuer = new URL(op.url);
    const server = await library.processDiscoveryResponse(issuer, await library.discoveryRequest(issuer, insecure));
    const client = { client_id: "rp" };
    return async (parameters = {}) => {
      const response = await library.clientCredentialsGrantRequest(server, client, authenticate, parameters, insecure);
      return (await library.processClientCredentialsResponse(server, client, response)).access_token;
    };
  };
}

test.each([
  ["openid-client 6.9.0", withOpenidClient(clientNewest), true],
  ["openid-client 6.1.1", withOpenidClient(clientOldest as never), true],
  ["oauth4webapi 3.8.8", withOauth4webapi(oauthNewest), false],
])("%s passes on the error of a signer", async (_, connect, wraps) => {
  const error = new SignerError("throttled", "too many calls");
  const [, { publicKey }] = signers;
  const away: Signer = { uri: "away:", publicKey, sign: () => Promise.reject(error), close: async () => {} };
  const grant = await connect(clientAuthentication([{ keyId: "rp-1", signer: away }]));
  const thrown = await grant().catch((reason: unknown) => reason);
  const { cause }: { readonly cause?: unknown } = Object(thrown);
  expect(wraps ? cause : thrown).toMatchObject({ code: "throttled", transient: true });
});

describe.each([
  ["openid-client 6.9.0", withOpenidClient(clientNewest)],
  ["openid-client 6.1.1", withOpenidClient(clientOldest as never)],
  ["oauth4webapi 3.8.8", withOauth4webapi(oauthNewest)],
  ["oauth4webapi 3.0.0", withOauth4webapi(oauthOldest as never)],
])("%s", (_, connect) => {
  test("none of 1,000 requests around a rotation of the client's key is refused", async () => {
    const grant = await connect(clientAuthentication(() => current));
    const tokens = new Set<string>();
    for (let batch = 0; batch < 40; batch += 1) {
      if (batch === 20) current = rotated;
      for (const token of await Promise.all(Array.from({ length: 25 }, () => grant()))) tokens.add(token);
    }
    expect(tokens.size).toBe(1000);
  });

  test("a key that the client does not publish is refused", async () => {
    const [, , , stranger = await openLocalSigner()] = signers;
    const grant = await connect(clientAuthentication([{ keyId: "rp-1", signer: stranger }]));
    await expect(grant()).rejects.toMatchObject({ error: "invalid_client" });
    await stranger.close();
  });
});

describe("a request object", () => {
  async function pushed(request: string): Promise<Response> {
    const body = new URLSearchParams({ request, client_id: "rp" });
    await clientAuthentication(() => current)({ issuer: op.url }, { client_id: "rp" }, body);
    return fetch(`${op.url}/request`, { method: "POST", body });
  }

  const parameters = {
    response_type: "code",
    redirect_uri: REDIRECT_URI,
    scope: "openid",
    code_challenge_method: "S256",
  };
  const challenge = { code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM" };

  test("is accepted by the OP, at the PAR endpoint", async () => {
    const request = await signRequestObject(
      () => current,
      { ...parameters, ...challenge, max_age: 60, claims: { id_token: { auth_time: { essential: true } } } },
      { clientId: "rp", issuer: op.url },
    );
    const response = await pushed(request);
    expect([response.status, await response.json()]).toMatchObject([201, { request_uri: expect.any(String) }]);
  });

  test("for another OP is refused", async () => {
    const options = { clientId: "rp", issuer: "https://other.example" };
    const response = await pushed(await signRequestObject(() => current, { ...parameters, ...challenge }, options));
    expect([response.status, await response.json()]).toMatchObject([400, { error: "invalid_request_object" }]);
  });

  test("goes into the URL that openid-client builds", async () => {
    const config = await clientNewest.discovery(
      new URL(op.url),
      "rp",
      undefined,
      clientAuthentication(() => current),
      {
        execute: [clientNewest.allowInsecureRequests],
      },
    );
    const request = await signRequestObject(
      () => current,
      { ...parameters, ...challenge, state: "s" },
      { clientId: "rp", issuer: op.url },
    );
    const url = clientNewest.buildAuthorizationUrl(config, { request });
    expect([...url.searchParams.keys()].toSorted()).toEqual(["client_id", "request"]);
    const response = await fetch(url, { redirect: "manual" });
    expect([response.status, response.headers.get("location")]).toEqual([
      303,
      expect.stringContaining("/interaction/"),
    ]);
  });
});
