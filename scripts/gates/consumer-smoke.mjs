// node smoke.mjs <expected major> <entry point …>, in a folder where the packed packages are installed.
import assert from "node:assert/strict";
import { createPublicKey, verify } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";

const [expectedMajor, ...entryPoints] = process.argv.slice(2);
assert.equal(process.version.split(".")[0], `v${expectedMajor}`);
for (const name of entryPoints) assert.notEqual(Object.keys(await import(name)).length, 0, `${name} exports nothing`);

// The names are joined here, because the type checker cannot resolve them in this folder.
const { createJwksEndpoint, createKeySet, SignerError, signJwt } = await import(["@signpost", "core"].join("/"));
const { closedError } = await import(["@signpost", "core", "adapter"].join("/"));
const { openLocalSigner } = await import(["@signpost", "local"].join("/"));

// `instanceof` would also accept a copy of the class.
assert.equal(closedError().constructor, SignerError, "@signpost/core/adapter has its own copy of the class");

const signer = await openLocalSigner();
const keys = createKeySet([{ keyId: "sig-1", signer }]);
const endpoint = createJwksEndpoint({ issuer: "https://op.example", keys });
const server = createServer(endpoint.listener).listen(0, "127.0.0.1");
await once(server, "listening");
const address = server.address();
assert.ok(typeof address === "object" && address !== null);

const token = await signJwt(keys, { iss: "https://op.example", sub: "1", aud: "rp" });
const response = await fetch(`http://127.0.0.1:${address.port}${endpoint.pathname}`);
/** @type {any} */
const { keys: published } = await response.json();
const [header = "", claims = "", signature = ""] = token.split(".");
const { kid } = JSON.parse(Buffer.from(header, "base64url").toString());
const jwk = published.find((/** @type {{ kid: string }} */ key) => key.kid === kid);
const key = { key: createPublicKey({ key: jwk, format: "jwk" }), dsaEncoding: /** @type {const} */ ("ieee-p1363") };
assert.ok(verify("sha256", Buffer.from(`${header}.${claims}`), key, Buffer.from(signature, "base64url")));

server.close();
await signer.close();
