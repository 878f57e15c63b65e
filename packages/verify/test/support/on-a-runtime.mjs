// Runs the compiled packages on whichever runtime starts it. Prints one line of JSON: what became of each kind of set, and how
// many connections to a loopback server it opened.
import { createServer } from "node:http";
import { createKeySet, createJwksEndpoint, signJwt } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { createClientKeySets, createPublicDispatcher, createRemoteKeySet, discoverKeySet } from "@signpost/verify";
import { jwtVerify } from "jose";

const keys = createKeySet([{ signer: await openLocalSigner() }]);
let connections = 0;
const server = createServer();
server.on("connection", () => {
  connections += 1;
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const { port } = server.address();
const issuer = `http://127.0.0.1:${port}`;
server.on("request", createJwksEndpoint({ issuer, keys }).listener);

const exp = Math.floor(Date.now() / 1000) + 60;
const token = await signJwt(keys, { iss: issuer, sub: "s", aud: "rp", exp });
const development = { allowInsecureLoopback: true, timeoutMs: 2000 };

const sets = {
  unguarded: (host) => createRemoteKeySet(urlAt(host), development),
  publicAddressesOnly: (host) => createRemoteKeySet(urlAt(host), { ...development, publicAddressesOnly: true }),
  discovered: (host) => discoverKeySet(new URL(urlAt(host)).origin, { ...development, publicAddressesOnly: true }),
  dispatcher: (host) => createRemoteKeySet(urlAt(host), { ...development, dispatcher: createPublicDispatcher() }),
  clients: (host) => createClientKeySets(development).keysOf("client", { jwksUri: urlAt(host) }),
};

function urlAt(host) {
  return `http://${host}:${port}/jwks`;
}

async function outcomeOf(make, host) {
  const before = connections;
  const outcome = await (async () => jwtVerify(token, make(host)))().then(
    () => "verified",
    (error) => error.code,
  );
  return { outcome, connections: connections - before };
}

const outcomes = {};
for (const [name, make] of Object.entries(sets)) {
  outcomes[name] = [];
  for (const host of ["127.0.0.1", "localhost"]) outcomes[name].push(await outcomeOf(make, host));
}
console.log(JSON.stringify(outcomes));
process.exit();
