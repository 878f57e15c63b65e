// Runs an OP on oidc-provider with the plug, on whichever runtime starts it.
import assert from "node:assert/strict";
import { once } from "node:events";
import { check, done, handOver, load, loadHost, rotating, settings, signAcross } from "./lib.mjs";

const RESOURCE = "urn:example:api";

const core = await load("core");
const { openLocalSigner } = await load("local");
const { signpostKeys } = await load("oidc-provider");
const { errors, ExternalSigningKey, Provider } = await loadHost("oidc-provider");
/** @type {any[]} */
const signers = [];
for (const privateKey of settings.backend.keys) signers.push(await openLocalSigner({ privateKey }));
const { keys, rotate } = rotating(core, signers);

const issuer = "http://127.0.0.1";
const signpost = signpostKeys({ ExternalSigningKey, errors, keys });
const provider = new Provider(issuer, {
  jwks: signpost.jwks,
  clients: [
    {
      client_id: "rp",
      client_secret: "a secret of this check",
      grant_types: ["client_credentials"],
      redirect_uris: [],
      response_types: [],
    },
  ],
  clientDefaults: { ...signpost.clientDefaults },
  features: {
    ...signpost.features,
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => RESOURCE,
      getResourceServerInfo: () => ({
        scope: "api",
        audience: RESOURCE,
        accessTokenFormat: "jwt",
        jwt: { sign: { alg: "ES256" } },
      }),
    },
  },
});
signpost.attach(provider, core.createJwksEndpoint({ issuer, keys, allowInsecureIssuer: true }));
const server = provider.listen(0, "127.0.0.1");
await once(server, "listening");
const base = `http://127.0.0.1:${server.address().port}`;

await check("access tokens of a rotation", async () => {
  const token = async () => {
    const body = new URLSearchParams({ grant_type: "client_credentials", scope: "api", resource: RESOURCE });
    const authorization = `Basic ${Buffer.from("rp:a+secret+of+this+check").toString("base64")}`;
    const response = await fetch(`${base}/token`, { method: "POST", body, headers: { authorization } });
    const answer = /** @type {any} */ (await response.json());
    assert.equal(response.status, 200, JSON.stringify(answer));
    return answer.access_token;
  };
  handOver(await signAcross(token, rotate, settings.tokens));
});

await check("the key set is served by the endpoint", async () => {
  const response = await fetch(`${base}/jwks`);
  assert.equal(response.headers.get("etag"), core.serializeJwks(keys()).etag);
  assert.deepEqual(Buffer.from(await response.arrayBuffer()), Buffer.from(core.serializeJwks(keys()).body));
});

server.close();
server.closeAllConnections();
for (const signer of signers) await signer.close();
done();
