import { once } from "node:events";
import { createServer } from "node:http";
import Provider, { errors, ExternalSigningKey } from "oidc-provider";
import { createRemoteJWKSet, jwtVerify, decodeProtectedHeader } from "jose";
import { expect, test } from "vitest";
import { createJwksEndpoint, createKeySet, type KeySet } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { signpostKeys } from "@signpost/oidc-provider";

test("live rotation: a key that was unknown at construction signs", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const issuer = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  let keys: KeySet = createKeySet([{ keyId: "a", signer: await openLocalSigner() }]);
  const source = () => keys;
  const signpost = signpostKeys({ ExternalSigningKey, errors, keys: source });
  const provider = new Provider(issuer, {
    jwks: signpost.jwks,
    features: {
      ...signpost.features,
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => "urn:api",
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: "api",
          audience: "urn:api",
          accessTokenFormat: "jwt",
          jwt: { sign: { alg: "ES256" } },
        }),
      },
    },
    clientDefaults: { ...signpost.clientDefaults },
    clients: [
      {
        client_id: "rp",
        client_secret: "secret",
        grant_types: ["client_credentials"],
        redirect_uris: [],
        response_types: [],
      },
    ],
  });
  signpost.attach(provider, createJwksEndpoint({ issuer, keyset: source }));
  server.on("request", provider.callback());
  const token = async (): Promise<string> => {
    const response = await fetch(`${issuer}/token`, {
      method: "POST",
      headers: { authorization: `Basic ${btoa("rp:secret")}` },
      body: new URLSearchParams({ grant_type: "client_credentials", resource: "urn:api" }),
    });
    const body = (await response.json()) as { access_token: string };
    if (!response.ok) throw new Error(JSON.stringify(body));
    return body.access_token;
  };
  const first = await token();
  keys = createKeySet([
    { keyId: "c", signer: await openLocalSigner() },
    ...keys.keys.map(({ keyId, publicKey }) => ({ keyId, publicKey })),
  ]);
  const second = await token();
  expect([first, second].map((jwt) => decodeProtectedHeader(jwt).kid)).toEqual(["a", "c"]);
  const discovery = (await (await fetch(`${issuer}/.well-known/openid-configuration`)).json()) as { jwks_uri: string };
  const jwks = await fetch(discovery.jwks_uri);
  expect(jwks.headers.get("etag")).toMatch(/^"[0-9a-f]{64}"$/);
  for (const jwt of [first, second]) await jwtVerify(jwt, createRemoteJWKSet(new URL(discovery.jwks_uri)));
  server.close();
});
