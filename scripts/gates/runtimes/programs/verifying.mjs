// Verifies tokens on whichever runtime starts it, from key sets over HTTP.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import {
  check,
  claims,
  done,
  failureOf,
  handOver,
  load,
  loadHost,
  rotating,
  runtime,
  settings,
  signAcross,
} from "./lib.mjs";

const core = await load("core");
const { openLocalSigner } = await load("local");
const verify = await load("verify");
/** @type {any[]} */
const signers = [];
for (const privateKey of settings.backend.keys) signers.push(await openLocalSigner({ privateKey }));
const { keys, rotate } = rotating(core, signers);

let connections = 0;
const server = createServer().on("connection", () => {
  connections += 1;
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
const address = server.address();
const port = typeof address === "object" && address !== null ? address.port : 0;
const jwks = `http://127.0.0.1:${port}/jwks`;
const endpoint = core.createJwksEndpoint({ issuer: `http://127.0.0.1:${port}`, keys });
server.on("request", endpoint.listener);

const development = { allowInsecureLoopback: true, timeoutMs: 5000 };
const header = { alg: "ES256", kid: keys().active.keyId };

await check("tokens of a rotation are verified, and forged ones are refused", async () => {
  const keySet = verify.createRemoteKeySet(jwks, development);
  const verifier = verify.createJwtVerifier({
    type: "id_token",
    issuer: "https://op.example",
    audience: "rp",
    keys: keySet,
  });
  const tokens = await signAcross((index) => core.signJwt(keys, claims(index)), rotate, settings.tokens);
  handOver(tokens);
  await Promise.all(tokens.map((token) => verifier.verify(token)));
  const [token = ""] = tokens;
  const forged = `${token.slice(0, token.lastIndexOf("."))}.${"A".repeat(86)}`;
  assert.equal((await failureOf(verifier.verify(forged))).code, "bad_signature");
});

/** @type {Record<string, (host: string) => (header: object) => Promise<unknown>>} */
const guarded = {
  publicAddressesOnly: (host) =>
    verify.createRemoteKeySet(`http://${host}:${port}/jwks`, { ...development, publicAddressesOnly: true }),
  discoverKeySet: (host) =>
    verify.discoverKeySet(`http://${host}:${port}`, { ...development, publicAddressesOnly: true }),
  createClientKeySets: (host) =>
    verify.createClientKeySets(development).keysOf("client", { jwksUri: `http://${host}:${port}/jwks` }),
};
for (const [name, make] of Object.entries(guarded)) {
  await check(`${name}: a private address is refused before a connection`, async () => {
    const before = connections;
    for (const host of ["127.0.0.1", "localhost"]) {
      assert.equal((await failureOf(make(host)(header))).code, "address_refused");
    }
    assert.equal(connections, before);
  });
}

await check("createPublicDispatcher guards, or is refused", async () => {
  if (runtime === "bun") {
    assert.throws(() => verify.createPublicDispatcher(), { code: "guard_unavailable" });
    return;
  }
  const keySet = verify.createRemoteKeySet(jwks, { ...development, dispatcher: verify.createPublicDispatcher() });
  assert.equal((await failureOf(keySet(header))).code, "address_refused");
});

if (runtime === "bun") {
  await check("a dispatcher of Bun's undici is refused, and one of the real undici works", async () => {
    const bun = await loadHost("undici");
    const open = (/** @type {unknown} */ dispatcher) => verify.createRemoteKeySet(jwks, { ...development, dispatcher });
    assert.throws(() => open(new bun.Agent()), core.ConfigurationError);
    const { Agent } = await loadHost("undici/index.js");
    const agent = new Agent();
    await open(agent)(header);
    await agent.close();
  });
}

await check("errors have codes: a silent server, a closed port, an abort", async () => {
  const { silent, closed } = settings.backend;
  const failing = (/** @type {number} */ at, /** @type {object} */ options) =>
    failureOf(verify.createRemoteKeySet(`http://127.0.0.1:${at}/jwks`, { ...development, ...options })(header));
  const timeout = await failing(silent, { timeoutMs: 200 });
  assert.deepEqual([timeout.code, timeout.transient], ["timeout", true]);
  const refused = await failing(closed, {});
  assert.deepEqual([refused.code, refused.transient], ["fetch_failed", true]);
  const verifier = verify.createJwtVerifier({
    type: "id_token",
    issuer: "https://op.example",
    audience: "rp",
    keys: verify.createRemoteKeySet(`http://127.0.0.1:${silent}/jwks`, { ...development, timeoutMs: 500 }),
  });
  const token = await core.signJwt(keys, claims("abort"));
  const stopped = await failureOf(verifier.verify(token, { signal: AbortSignal.timeout(50) }));
  assert.equal(stopped.code, "aborted");
});

for (const signer of signers) await signer.close();
server.close();
server.closeIdleConnections();
done();
