import { subscribe, unsubscribe } from "node:diagnostics_channel";
import * as client from "openid-client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createKeySet, SIGN_CHANNEL } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { ACCOUNT, browser, type Op, REDIRECT_URI, RESOURCE, startOp } from "./support/op.ts";

const SECRET = "only for this test";
const CIBA = "urn:openid:params:grant-type:ciba";

let op: Op;
let signatures = 0;
const count = (): void => {
  signatures += 1;
};
beforeAll(async () => {
  subscribe(SIGN_CHANNEL, count);
  op = await startOp({
    keys: createKeySet([{ signer: await openLocalSigner() }]),
    configuration: {
      clients: [
        {
          client_id: "rp",
          client_secret: SECRET,
          redirect_uris: [REDIRECT_URI],
          grant_types: ["authorization_code", "implicit", CIBA],
          response_types: ["code id_token", "id_token"],
          backchannel_token_delivery_mode: "poll",
        },
      ],
      features: {
        ciba: {
          enabled: true,
          deliveryModes: ["poll"],
          validateRequestContext: () => {},
          validateBindingMessage: () => {},
          verifyUserCode: () => {},
          processLoginHint: (_context, loginHint) => loginHint,
          // The user consents at once.
          triggerAuthenticationDevice: async (_context, request, account) => {
            const grant = new op.provider.Grant({ clientId: "rp", accountId: account?.accountId ?? "" });
            grant.addOIDCScope("openid");
            grant.addResourceScope(RESOURCE, "api");
            await grant.save();
            await op.provider.backchannelResult(request, grant);
          },
        },
      },
    },
  });
});
afterAll(() => {
  unsubscribe(SIGN_CHANNEL, count);
  op.close();
});

function relyingParty(...extensions: ((config: client.Configuration) => void)[]): Promise<client.Configuration> {
  const metadata = { id_token_signed_response_alg: "ES256", client_secret: SECRET };
  return client.discovery(new URL(op.issuer), "rp", metadata, undefined, {
    execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks, ...extensions],
  });
}

/** The response to an authorization request, as it stands in the fragment. */
async function authorize(config: client.Configuration, parameters: Record<string, string>): Promise<URL> {
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri: REDIRECT_URI,
    nonce: "n",
    state: "s",
    ...parameters,
  });
  const callback = await browser(op.issuer)(url);
  if (!(callback instanceof URL)) throw new Error(`the OP answered ${callback.status}`);
  return callback;
}

async function signaturesOf<T>(run: () => Promise<T>): Promise<[number, T]> {
  const before = signatures;
  const result = await run();
  return [signatures - before, result];
}

test("only an ID token, from the authorization endpoint: one", async () => {
  const config = await relyingParty(client.useIdTokenResponseType);
  const [count, callback] = await signaturesOf(() => authorize(config, { scope: "openid" }));
  expect(await client.implicitAuthentication(config, callback, "n", { expectedState: "s" })).toMatchObject({
    sub: ACCOUNT,
  });
  expect(count).toBe(1);
});

test("hybrid flow: one more than the code flow, for the ID token that comes with the code", async () => {
  const config = await relyingParty(client.useCodeIdTokenResponseType);
  const pkceCodeVerifier = client.randomPKCECodeVerifier();
  const pkce = {
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: "S256",
  };
  const scope = { scope: "openid api", resource: RESOURCE };
  const [first, callback] = await signaturesOf(() => authorize(config, { ...scope, ...pkce }));
  const checks = { pkceCodeVerifier, expectedState: "s", expectedNonce: "n" };
  const [second, tokens] = await signaturesOf(() => client.authorizationCodeGrant(config, callback, checks));
  expect(tokens.claims()?.sub).toBe(ACCOUNT);
  expect([first, second]).toEqual([1, 2]);
});

test.each([
  ["an opaque", 1, { scope: "openid" }],
  ["a JWT", 2, { scope: "openid api", resource: RESOURCE }],
] as const)("CIBA with %s access token: %i", async (_name, expected, asked) => {
  const config = await relyingParty();
  const [count, tokens] = await signaturesOf(async () => {
    const request = await client.initiateBackchannelAuthentication(config, { ...asked, login_hint: ACCOUNT });
    return client.pollBackchannelAuthenticationGrant(config, { ...request, interval: 0 });
  });
  expect(tokens.claims()?.sub).toBe(ACCOUNT);
  expect(count).toBe(expected);
});
