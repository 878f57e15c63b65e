import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from "jose";
import * as client from "openid-client";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { oauthProvider } from "@better-auth/oauth-provider";
import { createKeySet, type KeySet, type Signer, SignerError } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { createRemoteKeySet } from "@signpost/verify";
import { type App, HOST, startApp } from "./support/host.ts";
import { MODELS } from "./support/provider.ts";

const REDIRECT_URI = "https://rp.example/callback";
const LOGOUT_URI = "https://rp.example/logout";
const RESOURCE = "https://api.example";

interface Tables extends Record<string, Record<string, unknown>[]> {}

/** The API of the provider that this test uses. */
interface ProviderApi {
  adminCreateOAuthClient(call: {
    body: object;
    headers: Headers;
  }): Promise<{ client_id: string; client_secret: string }>;
  oauth2Token(call: { body: object; headers: Headers }): Promise<unknown>;
}

describe("an OpenID Provider on better-auth", () => {
  let app: App;
  let cookie: string;
  let signers: readonly [Signer, Signer];
  let first: KeySet;
  let rotated: KeySet;
  let current: KeySet;
  let failure: SignerError | undefined;
  let signed = 0;
  let config: client.Configuration;
  let credentials: { readonly client_id: string; readonly client_secret: string };

  beforeAll(async () => {
    signers = [await openLocalSigner(), await openLocalSigner()];
    const [old, next] = signers.map((signer) => counted(signer));
    if (old === undefined || next === undefined) throw new Error("two signers are needed");
    // The next key is announced, as before any rotation.
    first = createKeySet([
      { keyId: "old", signer: old },
      { keyId: "new", publicKey: next.publicKey },
    ]);
    rotated = createKeySet([
      { keyId: "new", signer: next },
      { keyId: "old", publicKey: old.publicKey },
    ]);
    current = first;
    const tables: Tables = {};
    app = await startApp(HOST, {
      keys: () => current,
      tables,
      advanced: { skipTrailingSlashes: true },
      models: MODELS,
      plugins: [
        oauthProvider({
          loginPage: "/login",
          consentPage: "/consent",
          scopes: ["openid", "profile", "offline_access"],
          resources: [{ identifier: RESOURCE, signingAlgorithm: "ES256" }],
          enforcePerClientResources: false,
          refreshTokenReuseInterval: 60,
          silenceWarnings: { oauthAuthServerConfig: true, openidConfig: true },
          // The types of the two packages do not fit each other with exactOptionalPropertyTypes.
        }) as never,
      ],
    });
    cookie = await app.signUp();
    credentials = await (app.auth.api as unknown as ProviderApi).adminCreateOAuthClient({
      headers: new Headers({ cookie }),
      body: {
        redirect_uris: [REDIRECT_URI],
        skip_consent: true,
        enable_end_session: true,
        backchannel_logout_uri: LOGOUT_URI,
        backchannel_logout_session_required: true,
        grant_types: ["authorization_code", "refresh_token"],
        scope: "openid profile offline_access",
      },
    });
    config = await client.discovery(
      new URL(app.url),
      credentials.client_id,
      { id_token_signed_response_alg: "ES256" },
      client.ClientSecretBasic(credentials.client_secret),
      {
        execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks],
      },
    );
  });
  afterAll(async () => {
    vi.restoreAllMocks();
    await app.close();
    for (const signer of signers) await signer.close();
  });

  function counted(signer: Signer): Signer {
    return {
      uri: signer.uri,
      publicKey: signer.publicKey,
      sign: async (digest, options) => {
        signed += 1;
        if (failure !== undefined) throw failure;
        return signer.sign(digest, options);
      },
      close: () => signer.close(),
    };
  }

  interface Code {
    readonly callback: URL;
    readonly verifier: string;
  }

  async function authorize(parameters: Record<string, string> = {}): Promise<Code> {
    const verifier = client.randomPKCECodeVerifier();
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri: REDIRECT_URI,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      scope: "openid profile offline_access",
      state: "s",
      ...parameters,
    });
    const response = await app.request(url.href, { headers: { cookie } });
    // The host sends a redirect to a browser, and this to a program.
    const { url: location } = (await response.json()) as { url: string };
    return { callback: new URL(location), verifier };
  }

  async function exchange({ callback, verifier }: Code, parameters: Record<string, string> = {}) {
    const checks = { pkceCodeVerifier: verifier, expectedState: "s" };
    return client.authorizationCodeGrant(config, callback, checks, parameters);
  }

  async function login(parameters: Record<string, string> = {}) {
    return exchange(await authorize(parameters), parameters);
  }

  /** The host sends logout tokens over TLS only. So they are taken from its `fetch`. */
  function receiveLogout(): string[] {
    const tokens: string[] = [];
    const { fetch } = globalThis;
    vi.spyOn(globalThis, "fetch").mockImplementation(async (url, init) => {
      if (url !== LOGOUT_URI) return fetch(url, init);
      tokens.push(new URLSearchParams(init?.body as URLSearchParams).get("logout_token") ?? "");
      return new Response(null, { status: 204 });
    });
    return tokens;
  }

  test("discovery announces the endpoint and ES256 alone", () => {
    const { jwks_uri, id_token_signing_alg_values_supported, issuer } = config.serverMetadata();
    expect({ jwks_uri, id_token_signing_alg_values_supported, issuer }).toEqual({
      ...app.endpoint.metadata,
      issuer: app.url,
    });
  });

  test("an ID token and an access token are signed, and keep their types", async () => {
    const tokens = await login({ resource: RESOURCE });
    expect(decodeProtectedHeader(tokens.id_token ?? "")).toEqual({ alg: "ES256", kid: "old" });
    expect(decodeProtectedHeader(tokens.access_token)).toEqual({ alg: "ES256", kid: "old", typ: "at+jwt" });
    const keys = createRemoteJWKSet(new URL(app.endpoint.jwksUri));
    await jwtVerify(tokens.access_token, keys, { issuer: app.url, audience: RESOURCE, algorithms: ["ES256"] });
  });

  test("the provider accepts its own access token, and refuses it as soon as its key is withdrawn", async () => {
    const { access_token: token } = await login({ resource: RESOURCE });
    expect(await client.tokenIntrospection(config, token)).toMatchObject({ active: true });
    const [, next] = signers;
    current = createKeySet([{ keyId: "new", signer: next }]);
    await expect(client.tokenIntrospection(config, token)).rejects.toThrow();
    current = rotated;
    expect(await client.tokenIntrospection(config, token)).toMatchObject({ active: true });
    current = first;
  });

  test("none of 1,000 tokens of 500 logins around a rotation is refused, and both keys have signed", async () => {
    const keys = createRemoteKeySet(app.endpoint.jwksUri, { allowInsecureLoopback: true });
    const kids = new Map<unknown, number>();
    const count = (kid: unknown): void => void kids.set(kid, (kids.get(kid) ?? 0) + 1);
    for (let batch = 0; batch < 25; batch += 1) {
      if (batch === 12) current = rotated;
      await Promise.all(
        Array.from({ length: 20 }, async () => {
          // openid-client verifies the ID token.
          const tokens = await login({ resource: RESOURCE });
          const { protectedHeader } = await jwtVerify(tokens.access_token, keys, {
            issuer: app.url,
            audience: RESOURCE,
          });
          count(protectedHeader.kid);
          count(decodeProtectedHeader(tokens.id_token ?? "").kid);
        }),
      );
    }
    expect(Object.fromEntries(kids)).toEqual({ old: 480, new: 520 });
    current = first;
  });

  test("after a failure, a code is not used up until the key signs again", async () => {
    const [lost, kept] = [await authorize(), await authorize()];
    failure = new SignerError("unavailable", "away");
    await expect(exchange(lost)).rejects.toMatchObject({ cause: { status: 503 } });
    await expect(exchange(kept)).rejects.toMatchObject({ cause: { status: 503 } });
    failure = undefined;
    await expect(exchange(kept)).resolves.toMatchObject({ token_type: "bearer" });
    await expect(exchange(lost)).rejects.toMatchObject({ error: expect.stringMatching(/invalid/) });
  });

  test("a code is kept at each path that the host takes for the token endpoint, and in calls of its API", async () => {
    const [lost, kept] = [await authorize(), await authorize()];
    const body = {
      grant_type: "authorization_code",
      code: kept.callback.searchParams.get("code") ?? "",
      code_verifier: kept.verifier,
      redirect_uri: REDIRECT_URI,
    };
    const basic = btoa(`${credentials.client_id}:${credentials.client_secret}`);
    const headers = { authorization: `Basic ${basic}` };
    failure = new SignerError("unavailable", "away");
    await expect(exchange(lost)).rejects.toMatchObject({ cause: { status: 503 } });
    const init = { method: "POST", headers, body: new URLSearchParams(body) };
    const response = await app.request("/api/auth/oauth2/token/", init);
    expect([response.status, response.headers.get("retry-after"), response.headers.get("cache-control")]).toEqual([
      503,
      "2",
      "no-store",
    ]);
    expect(await response.json()).toMatchObject({ error: "temporarily_unavailable" });
    const api = app.auth.api as unknown as ProviderApi;
    await expect(api.oauth2Token({ body, headers: new Headers(headers) })).rejects.toMatchObject({
      statusCode: 503,
      cause: { code: "unavailable" },
    });
    failure = undefined;
    await expect(exchange(kept)).resolves.toMatchObject({ token_type: "bearer" });
  });

  test("a refresh token that was lost in an outage revokes no other one, with refreshTokenReuseInterval", async () => {
    const [lost, other] = [await login(), await login()];
    const refresh = ({ refresh_token: token = "" }) => client.refreshTokenGrant(config, token);
    failure = new SignerError("unavailable", "away");
    await expect(refresh(lost)).rejects.toMatchObject({ cause: { status: 503 } });
    failure = undefined;
    await expect(refresh(lost)).rejects.toMatchObject({ error: "invalid_grant" });
    await expect(refresh(other)).resolves.toMatchObject({ token_type: "bearer" });
  });

  test("with a slash at its end, the key set is the one of the endpoint", async () => {
    const [plain, slashed] = [await app.request("/api/auth/jwks"), await app.request("/api/auth/jwks/")];
    for (const name of ["etag", "cache-control"]) expect(slashed.headers.get(name)).toBe(plain.headers.get(name));
    expect(await slashed.text()).toBe(await plain.text());
  });

  test("while the key works, nothing is signed but tokens", async () => {
    const code = await authorize();
    const before = signed;
    await exchange(code);
    expect(signed - before).toBe(1);
  });

  test("a logout token is signed with its type", async () => {
    const other = await app.signUp("bob@rp.example");
    const mine = cookie;
    cookie = other;
    await login();
    cookie = mine;
    const logoutTokens = receiveLogout();
    const headers = { cookie: other, origin: app.url, "content-type": "application/json" };
    const out = await app.request("/api/auth/sign-out", { method: "POST", headers, body: "{}" });
    expect(out.status).toBe(200);
    expect(logoutTokens).toHaveLength(1);
    const keys = createRemoteJWKSet(new URL(app.endpoint.jwksUri));
    const { protectedHeader } = await jwtVerify(logoutTokens[0] ?? "", keys, { issuer: app.url, typ: "logout+jwt" });
    expect(protectedHeader).toEqual({ alg: "ES256", kid: "old", typ: "logout+jwt" });
  });
});
