import { once } from "node:events";
import { createServer } from "node:http";
import { createJwksEndpoint, createKeySet } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { signpostKeys } from "@signpost/oidc-provider";
import { createJwtVerifier, discoverKeySet } from "@signpost/verify";
import { errors, ExternalSigningKey, Provider } from "oidc-provider";
import { afterAll, beforeAll, expect, it } from "vitest";

// The JWT verifier as an RP and a resource server use it, with the tokens of a real OP.

const REDIRECT_URI = "https://rp.example/callback";
const API = "https://api.example";
const CLIENT = { client_id: "rp", client_secret: "only for this test" };
const server = createServer();
let issuer: string;
let discovery: ReturnType<typeof discoverKeySet>;

beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  issuer = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  const keys = createKeySet([{ signer: await openLocalSigner() }]);
  const signpost = signpostKeys({ ExternalSigningKey, errors, keys });
  const provider = new Provider(issuer, {
    jwks: { keys: [...signpost.jwks.keys] },
    clients: [
      {
        ...CLIENT,
        redirect_uris: [REDIRECT_URI],
        grant_types: ["authorization_code", "implicit"],
        response_types: ["code id_token token"],
        id_token_signed_response_alg: "ES256",
      },
    ],
    clientDefaults: { ...signpost.clientDefaults },
    responseTypes: ["code id_token token"],
    features: {
      ...signpost.features,
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: "orders:read",
          audience: API,
          accessTokenFormat: "jwt",
          jwt: { sign: { alg: "ES256" } },
        }),
      },
    },
    pkce: { required: () => false },
    cookies: { keys: ["only for this test"] },
    interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
    findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    loadExistingGrant: async ({ oidc: { client, session } }) => {
      const grant = new provider.Grant({ clientId: client?.clientId ?? "", accountId: session?.accountId ?? "" });
      grant.addOIDCScope("openid");
      grant.addResourceScope(API, "orders:read");
      await grant.save();
      return grant;
    },
  });
  signpost.attach(provider, createJwksEndpoint({ issuer, keys }));
  provider.use(async (context, next) => {
    if (!context.path.startsWith("/interaction/")) return next();
    context.respond = false;
    await provider.interactionFinished(context.req, context.res, { login: { accountId: "248289" } });
  });
  const handle = provider.callback();
  server.on("request", (request, response) => void handle(request, response));
  discovery = discoverKeySet(issuer, { allowInsecureLoopback: true });
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** Follows the OP's redirects, as a browser, to the RP. Returns what is in the fragment there. */
async function authorize(nonce: string): Promise<URLSearchParams> {
  const url = new URL(`${issuer}/auth`);
  url.search = new URLSearchParams({
    client_id: CLIENT.client_id,
    redirect_uri: REDIRECT_URI,
    response_type: "code id_token token",
    scope: "openid orders:read",
    resource: API,
    max_age: "60",
    nonce,
  }).toString();
  const cookies = new Map<string, string>();
  for (let [next, hops] = [url, 0]; hops < 10; hops += 1) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(next, { redirect: "manual", headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    next = new URL(response.headers.get("location") ?? "", issuer);
    if (next.origin !== issuer) return new URLSearchParams(next.hash.slice(1));
  }
  throw new Error("too many redirects");
}

async function exchange(code: string): Promise<{ id_token: string; access_token: string }> {
  const response = await fetch(`${issuer}/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${CLIENT.client_id}:${encodeURIComponent(CLIENT.client_secret)}`)}` },
    body: new URLSearchParams({ grant_type: "authorization_code", code, redirect_uri: REDIRECT_URI, resource: API }),
  });
  expect(response.status).toBe(200);
  return (await response.json()) as { id_token: string; access_token: string };
}

it("verifies the tokens of oidc-provider in a hybrid flow, each for its purpose", async () => {
  const idTokens = createJwtVerifier({ type: "id_token", issuer, audience: CLIENT.client_id, keys: discovery });
  const accessTokens = createJwtVerifier({ type: "access_token", issuer, audience: API, keys: discovery });

  const answer = await authorize("n-1");
  const [code, frontIdToken] = [answer.get("code") ?? "", answer.get("id_token") ?? ""];
  const frontAccessToken = answer.get("access_token") ?? "";
  const options = { nonce: "n-1", code, accessToken: frontAccessToken, maxAgeSeconds: 60 };
  const front = await idTokens.verify(frontIdToken, options);
  expect(front.claims).toMatchObject({ sub: "248289", aud: CLIENT.client_id });
  await expect(idTokens.verify(frontIdToken, { nonce: "n-2" })).rejects.toMatchObject({ claim: "nonce" });
  await expect(idTokens.verify(frontIdToken, { code: `${code}x` })).rejects.toMatchObject({ claim: "c_hash" });
  await expect(idTokens.verify(frontIdToken, { accessToken: code })).rejects.toMatchObject({ claim: "at_hash" });

  const { id_token: idToken, access_token: accessToken } = await exchange(code);
  await expect(idTokens.verify(idToken, { nonce: "n-1" })).resolves.toBeDefined();
  // oidc-provider leaves it out at the token endpoint.
  await expect(idTokens.verify(idToken, { accessToken })).rejects.toMatchObject({ claim: "at_hash" });

  const { claims } = await accessTokens.verify(accessToken, { scopes: ["orders:read"] });
  expect(claims).toMatchObject({ sub: "248289", client_id: CLIENT.client_id });
  const more = accessTokens.verify(accessToken, { scopes: ["orders:write"] });
  await expect(more).rejects.toMatchObject({ code: "insufficient_scope" });

  await expect(accessTokens.verify(idToken)).rejects.toMatchObject({ code: "invalid_typ" });
  await expect(idTokens.verify(accessToken)).rejects.toMatchObject({ code: "invalid_typ" });
  expect(discovery.stats().discovery.requests).toBe(1);
});
