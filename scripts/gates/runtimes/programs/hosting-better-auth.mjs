// Runs better-auth with the plug, on whichever runtime starts it.
import assert from "node:assert/strict";
import { check, done, handOver, load, loadHost, rotating, settings, signAcross } from "./lib.mjs";

const core = await load("core");
const { openLocalSigner } = await load("local");
const { signpostJwt } = await load("better-auth");
const { betterAuth } = await loadHost("better-auth");
const { APIError } = await loadHost("better-auth/api");
const { memoryAdapter } = await loadHost("better-auth/adapters/memory");
const { jwt } = await loadHost("better-auth/plugins");
/** @type {any[]} */
const signers = [];
for (const privateKey of settings.backend.keys) signers.push(await openLocalSigner({ privateKey }));
const { keys, rotate } = rotating(core, signers);

const baseURL = "http://localhost:3000";
const endpoint = core.createJwksEndpoint({ issuer: baseURL, mountPrefix: "/api/auth", keys });
const auth = betterAuth({
  baseURL,
  secret: "a secret of this check, which is long enough",
  database: memoryAdapter({ user: [], session: [], account: [], verification: [], jwks: [] }),
  emailAndPassword: { enabled: true },
  telemetry: { enabled: false },
  rateLimit: { enabled: false },
  plugins: [signpostJwt({ jwt, APIError, keys, endpoint })],
});

let cookie = "";
await check("a user signs up", async () => {
  const body = JSON.stringify({ email: "ada@rp.example", password: "correct horse battery", name: "Ada" });
  const headers = { "content-type": "application/json", origin: baseURL };
  const response = await auth.handler(
    new Request(`${baseURL}/api/auth/sign-up/email`, { method: "POST", headers, body }),
  );
  assert.equal(response.status, 200);
  cookie = response.headers
    .getSetCookie()
    .map((/** @type {string} */ each) => each.split(";")[0])
    .join("; ");
});

await check("tokens of a session across a rotation", async () => {
  const token = async () => {
    const response = await auth.handler(new Request(`${baseURL}/api/auth/token`, { headers: { cookie } }));
    assert.equal(response.status, 200);
    return (await response.json()).token;
  };
  handOver(await signAcross(token, rotate, settings.tokens));
});

await check("the key set is served by the endpoint", async () => {
  const response = await auth.handler(new Request(`${baseURL}/api/auth/jwks`));
  assert.deepEqual(Buffer.from(await response.arrayBuffer()), Buffer.from(core.serializeJwks(keys()).body));
});

for (const signer of signers) await signer.close();
done();
