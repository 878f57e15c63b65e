// Signs with the other backends, and in the hosts, in a Node of FIPS mode. Its last line is JSON: what worked.
import { getFips } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { openAwsKmsSigner } from "@signpost/aws-kms";
import { signpostJwt } from "@signpost/better-auth";
import { createJwksEndpoint, createKeySet } from "@signpost/core";
import { openGcpKmsSigner } from "@signpost/gcp-kms";
import { openLocalSigner } from "@signpost/local";
import { signpostKeys } from "@signpost/oidc-provider";
import { openPkcs11Signer } from "@signpost/pkcs11";
import { openVaultTransitSigner } from "@signpost/vault-transit";
import { createJwtVerifier, createOwnKeySet } from "@signpost/verify";
import { betterAuth } from "better-auth";
import { memoryAdapter } from "better-auth/adapters/memory";
import { APIError } from "better-auth/api";
import { jwt } from "better-auth/plugins";
import { errors, ExternalSigningKey, Provider } from "oidc-provider";
import { outcomeOf, tokensOf } from "./fips-tokens.mjs";

const {
  KMS_ENDPOINT: awsEndpoint,
  GCP_KEY: keyVersion,
  GCP_GRPC: grpc,
  GCP_REST: rest,
  VAULT_ADDRESS: address,
  VAULT_KEY_TOKEN: vaultToken,
  P11_MODULE: module,
  P11_TOKEN: token,
  P11_PIN: pin,
} = process.env;

const API = "urn:example:api";

/** The subject of a token, if its signature verifies with the keys. */
async function subjectOf(keys, token, options) {
  const { claims } = await createJwtVerifier({ keys: createOwnKeySet(keys), ...options }).verify(token);
  return claims.sub;
}

/** A JWT access token for a client, signed in oidc-provider. */
async function byOidcProvider() {
  const signer = await openLocalSigner();
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const keys = createKeySet([{ signer }]);
  const signpost = signpostKeys({ ExternalSigningKey, errors, keys });
  const client = { client_id: "rp", client_secret: "only-for-this-test", grant_types: ["client_credentials"] };
  const provider = new Provider(issuer, {
    clients: [{ ...client, redirect_uris: [], response_types: [] }],
    cookies: { keys: ["only for this test"] },
    jwks: signpost.jwks,
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({
          scope: "api",
          audience: API,
          accessTokenFormat: "jwt",
          jwt: { sign: { alg: "ES256" } },
        }),
      },
      ...signpost.features,
    },
    clientDefaults: { ...signpost.clientDefaults },
  });
  signpost.attach(provider, createJwksEndpoint({ issuer, keys }));
  const handle = provider.callback();
  server.on("request", (request, response) => void handle(request, response));
  try {
    const response = await fetch(`${issuer}/token`, {
      method: "POST",
      headers: { authorization: `Basic ${btoa(`rp:${client.client_secret}`)}` },
      body: new URLSearchParams({ grant_type: "client_credentials", resource: API }),
    });
    const { access_token: accessToken } = await response.json();
    return await subjectOf(keys, accessToken, { type: "access_token", issuer, audience: API });
  } finally {
    server.closeAllConnections();
    server.close();
    await signer.close();
  }
}

/** A token of better-auth's own API. */
async function byBetterAuth() {
  const signer = await openLocalSigner();
  const issuer = "https://op.example";
  const keys = createKeySet([{ signer }]);
  const endpoint = createJwksEndpoint({ issuer, mountPrefix: "/api/auth", keys });
  const auth = betterAuth({
    baseURL: issuer,
    secret: "a secret of this test, which is long enough",
    database: memoryAdapter({ user: [], session: [], account: [], verification: [], jwks: [] }),
    telemetry: { enabled: false },
    logger: { disabled: true },
    plugins: [signpostJwt({ jwt, APIError, keys, endpoint })],
  });
  try {
    const iat = Math.floor(Date.now() / 1000);
    const payload = { sub: "s", aud: "rp", iat, exp: iat + 60 };
    const { token: made } = await auth.api.signJWT({ body: { payload } });
    return await subjectOf(keys, made, { type: "id_token", issuer, audience: "rp" });
  } finally {
    await signer.close();
  }
}

const STEADY = { policy: { attemptTimeoutMs: 20_000, deadlineMs: 30_000 }, openDeadlineMs: 30_000 };
const p11 = { module, token, object: "op", pin, sessions: 1, ...STEADY };
const tokensBy = (open) => outcomeOf(async () => tokensOf(await open()));

const report = {
  fips: getFips(),
  awsHttps: await tokensBy(() =>
    openAwsKmsSigner({
      key: "alias/op",
      region: "eu-west-1",
      endpoint: awsEndpoint,
      transport: "https",
      ...STEADY,
    }),
  ),
  gcpGrpc: await tokensBy(() => openGcpKmsSigner({ keyVersion, endpoint: grpc, ...STEADY })),
  gcpRest: await tokensBy(() => openGcpKmsSigner({ keyVersion, endpoint: rest, transport: "rest", ...STEADY })),
  vault: await tokensBy(() =>
    openVaultTransitSigner({ address, key: "op", auth: { method: "token", token: vaultToken }, ...STEADY }),
  ),
  pkcs11Thread: await tokensBy(() => openPkcs11Signer({ ...p11, isolation: "thread" })),
  pkcs11Process: await tokensBy(() => openPkcs11Signer({ ...p11, isolation: "process" })),
  oidcProvider: await outcomeOf(byOidcProvider),
  betterAuth: await outcomeOf(byBetterAuth),
};
process.stdout.write(`\n${JSON.stringify(report)}`, () => process.exit());
