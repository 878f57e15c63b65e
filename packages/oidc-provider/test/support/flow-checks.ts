import { generateKeyPairSync } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { createServer } from "node:http";
import { decodeJwt, decodeProtectedHeader, jwtVerify, createRemoteJWKSet } from "jose";
import * as client from "openid-client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createKeySet, type KeySet, SIGN_CHANNEL, type SignEvent, type Signer } from "@signpost/core";
import { ACCOUNT, approveDevice, browser, type Op, pageOf, REDIRECT_URI, RESOURCE, startOp } from "./op.ts";

export interface Opened {
  readonly signer: Signer;
  stop(): Promise<void>;
}

/** Every flow of a relying party whose tokens the key signs, each with the number of signatures that it costs. */
export function flowChecks(backend: string, open: () => Promise<Opened>): void {
  const rpKey = generateKeyPairSync("ec", { namedCurve: "P-256" });
  let opened: Opened;
  let op: Op;
  let keys: KeySet;
  let signatures = 0;
  let logoutToken: Promise<string>;
  let logoutServer: ReturnType<typeof createServer>;

  /** Counts what reaches the backend, repetitions too: each costs a round trip to the KMS or HSM. */
  function count(message: unknown): void {
    signatures += (message as SignEvent).attempts;
  }

  async function signaturesOf<T>(run: () => Promise<T>): Promise<[number, T]> {
    const before = signatures;
    const result = await run();
    return [signatures - before, result];
  }

  beforeAll(async () => {
    let received: (token: string) => void = () => {};
    logoutToken = new Promise((resolve) => {
      received = resolve;
    });
    logoutServer = createServer((req, res) => {
      let body = "";
      req.on("data", (chunk: Buffer) => {
        body += chunk.toString();
      });
      req.on("end", () => {
        received(new URLSearchParams(body).get("logout_token") ?? "");
        res.end();
      });
    }).listen(0, "127.0.0.1");
    await once(logoutServer, "listening");
    const address = logoutServer.address();

    opened = await open();
    subscribe(SIGN_CHANNEL, count);
    keys = createKeySet([{ signer: opened.signer }]);
    op = await startOp({
      keys,
      configuration: {
        clients: [
          {
            client_id: "rp",
            redirect_uris: [REDIRECT_URI],
            grant_types: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
            response_types: ["code"],
            token_endpoint_auth_method: "private_key_jwt",
            token_endpoint_auth_signing_alg: "ES256",
            jwks: {
              keys: [{ ...rpKey.publicKey.export({ format: "jwk" }), kid: "rp-1", alg: "ES256", use: "sig" }],
            },
            userinfo_signed_response_alg: "ES256",
            authorization_signed_response_alg: "ES256",
            introspection_signed_response_alg: "ES256",
            backchannel_logout_uri: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/`,
            backchannel_logout_session_required: true,
            post_logout_redirect_uris: [REDIRECT_URI],
          },
        ],
      },
    });
  });
  afterAll(async () => {
    unsubscribe(SIGN_CHANNEL, count);
    op.close();
    logoutServer.close();
    await opened.stop();
  });

  async function relyingParty(): Promise<client.Configuration> {
    const privateKey = await crypto.subtle.importKey(
      "jwk",
      rpKey.privateKey.export({ format: "jwk" }) as never,
      { name: "ECDSA", namedCurve: "P-256" },
      false,
      ["sign"],
    );
    const config = await client.discovery(
      new URL(op.issuer),
      "rp",
      {
        id_token_signed_response_alg: "ES256",
        userinfo_signed_response_alg: "ES256",
        introspection_signed_response_alg: "ES256",
      },
      client.PrivateKeyJwt({ key: privateKey, kid: "rp-1" }),
      { execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks] },
    );
    return config;
  }

  interface Login {
    readonly config: client.Configuration;
    readonly browse: ReturnType<typeof browser>;
    readonly tokens: client.TokenEndpointResponse & client.TokenEndpointResponseHelpers;
  }

  /** The code flow with PKCE, as openid-client drives it. */
  async function login(parameters: Record<string, string>, { jarm = false, pushed = false } = {}): Promise<Login> {
    const config = await relyingParty();
    if (jarm) client.useJwtResponseMode(config);
    const browse = browser(op.issuer);
    const pkceCodeVerifier = client.randomPKCECodeVerifier();
    const authorizationUrl = pushed ? client.buildAuthorizationUrlWithPAR : client.buildAuthorizationUrl;
    const url = await authorizationUrl(config, {
      redirect_uri: REDIRECT_URI,
      code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: "S256",
      scope: "openid",
      state: "s",
      ...parameters,
    });
    // RFC 9126 section 4: the browser carries the client and a reference, and nothing else.
    if (pushed) expect([...url.searchParams.keys()].toSorted()).toEqual(["client_id", "request_uri"]);
    const callback = await browse(url);
    if (!(callback instanceof URL)) throw new Error(`the OP answered ${callback.status}: ${await callback.text()}`);
    const tokens = await client.authorizationCodeGrant(config, callback, { pkceCodeVerifier, expectedState: "s" });
    return { config, browse, tokens };
  }

  /** The device flow, as openid-client drives it. */
  async function loginOfDevice(parameters: Record<string, string>): Promise<Login["tokens"]> {
    const config = await relyingParty();
    const device = await client.initiateDeviceAuthorization(config, { scope: "openid", ...parameters });
    await approveDevice(op, device);
    // The user was fast: the first poll finds the tokens.
    return client.pollDeviceAuthorizationGrant(config, { ...device, interval: 0 });
  }

  /** As a resource server does it, that knows nothing but the issuer. */
  async function expectAccessToken(accessToken: string): Promise<void> {
    const { payload, protectedHeader } = await jwtVerify(
      accessToken,
      createRemoteJWKSet(new URL(`${op.issuer}/jwks`)),
      { issuer: op.issuer, audience: RESOURCE, typ: "at+jwt" },
    );
    expect(payload.sub).toBe(ACCOUNT);
    expect(protectedHeader.kid).toBe(keys.active.keyId);
  }

  describe(`a real oidc-provider with a key in ${backend}, driven by openid-client with non-repudiation checks`, () => {
    test("code flow with an opaque access token: one backend signature, the ID token's", async () => {
      const [count, { tokens }] = await signaturesOf(() => login({}));
      expect(tokens.claims()).toMatchObject({ sub: ACCOUNT, aud: "rp" });
      expect(decodeProtectedHeader(tokens.id_token ?? "")).toMatchObject({ alg: "ES256", kid: keys.active.keyId });
      expect(count).toBe(1);
    });

    test("code flow with a JWT access token: two", async () => {
      const [count, { tokens }] = await signaturesOf(() => login({ scope: "openid api", resource: RESOURCE }));
      await expectAccessToken(tokens.access_token);
      expect(count).toBe(2);
    });

    test("a pushed authorization request (RFC 9126) costs none: two, with a JWT access token", async () => {
      const [count, { tokens }] = await signaturesOf(() =>
        login({ scope: "openid api", resource: RESOURCE }, { pushed: true }),
      );
      expect(tokens.claims()).toMatchObject({ sub: ACCOUNT, aud: "rp" });
      await expectAccessToken(tokens.access_token);
      expect(count).toBe(2);
    });

    test("a pushed request with JARM: two", async () => {
      const [count, { tokens }] = await signaturesOf(() => login({}, { jarm: true, pushed: true }));
      expect(tokens.claims()?.sub).toBe(ACCOUNT);
      expect(count).toBe(2);
    });

    test("device flow (RFC 8628) with an opaque access token: one, the ID token's", async () => {
      const [count, tokens] = await signaturesOf(() => loginOfDevice({}));
      expect(tokens.claims()).toMatchObject({ sub: ACCOUNT, aud: "rp" });
      expect(decodeProtectedHeader(tokens.id_token ?? "")).toMatchObject({ alg: "ES256", kid: keys.active.keyId });
      expect(count).toBe(1);
    });

    test("device flow with a JWT access token: two", async () => {
      const [count, tokens] = await signaturesOf(() => loginOfDevice({ scope: "openid api", resource: RESOURCE }));
      expect(tokens.claims()?.sub).toBe(ACCOUNT);
      await expectAccessToken(tokens.access_token);
      expect(count).toBe(2);
    });

    test("JARM: one more, for the authorization response", async () => {
      const [count, { tokens }] = await signaturesOf(() => login({}, { jarm: true }));
      expect(tokens.claims()?.sub).toBe(ACCOUNT);
      expect(count).toBe(2);
    });

    test("userinfo as a JWT: one", async () => {
      const { config, tokens } = await login({});
      const [count, userinfo] = await signaturesOf(() => client.fetchUserInfo(config, tokens.access_token, ACCOUNT));
      expect(userinfo.sub).toBe(ACCOUNT);
      expect(count).toBe(1);
    });

    test("refresh with an ID token: one", async () => {
      const { config, tokens } = await login({});
      const refreshToken = tokens.refresh_token ?? "";
      const [count, refreshed] = await signaturesOf(() => client.refreshTokenGrant(config, refreshToken));
      expect(refreshed.claims()?.sub).toBe(ACCOUNT);
      expect(count).toBe(1);
    });

    test("introspection as a JWT: one", async () => {
      const { config, tokens } = await login({});
      const [count, introspection] = await signaturesOf(() => client.tokenIntrospection(config, tokens.access_token));
      expect(introspection).toMatchObject({ active: true, client_id: "rp" });
      expect(count).toBe(1);
    });

    test("back-channel logout: one for each client, and the hint is verified without any", async () => {
      const { browse, tokens } = await login({});
      const end = new URL(`${op.issuer}/session/end`);
      end.searchParams.set("id_token_hint", tokens.id_token ?? "");
      end.searchParams.set("post_logout_redirect_uri", REDIRECT_URI);
      const [count, html] = await signaturesOf(() => pageOf(browse(end)));
      expect(count).toBe(0);
      const [, xsrf = ""] = /name="xsrf" value="([^"]+)"/.exec(html) ?? [];
      const [confirmed] = await signaturesOf(() =>
        browse.post(new URL(`${op.issuer}/session/end/confirm`), { xsrf, logout: "yes" }),
      );
      const token = await logoutToken;
      expect(decodeProtectedHeader(token)).toMatchObject({ typ: "logout+jwt", kid: keys.active.keyId });
      expect(decodeJwt(token)).toMatchObject({ aud: "rp", sub: ACCOUNT });
      expect(confirmed).toBe(1);
    });
  });
}
