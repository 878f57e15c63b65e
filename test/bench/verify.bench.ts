import { createServer } from "node:http";
import { createJwksEndpoint, createKeySet, signJwt } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { createRemoteKeySet } from "@signpost/verify";
import { createLocalJWKSet, jwtVerify } from "jose";
import type { JSONWebKeySet } from "jose";
import { concurrently, runBench, sequentially } from "./harness.ts";
import type { Contender } from "./harness.ts";

await runBench({
  name: "verify",
  title: "Verification with a warm remote set beside jose with the set in memory",
  packages: ["@signpost/verify", "@signpost/core"],
  setUp: async () => {
    const signers = await Promise.all([openLocalSigner(), openLocalSigner()]);
    const keys = createKeySet(signers.map((signer) => ({ signer })));
    const server = createServer((request, response) => endpoint.listener(request, response));
    await new Promise<void>((listening) => {
      server.listen(0, "127.0.0.1", listening);
    });
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("the server has no port");
    const issuer = `http://127.0.0.1:${address.port}`;
    const endpoint = createJwksEndpoint({ issuer, keyset: keys });

    const remote = createRemoteKeySet(endpoint.jwksUri, { allowInsecureLoopback: true });
    await remote.preload();
    const document = Buffer.from(endpoint.respond("GET").body ?? []).toString();
    const local = createLocalJWKSet(JSON.parse(document) as JSONWebKeySet);

    const now = Math.floor(Date.now() / 1000);
    const token = await signJwt(keys, {
      iss: issuer,
      aud: "rp",
      sub: "248289761001",
      nonce: "n-0S6",
      exp: now + 86_400,
    });
    const rules = { issuer, audience: "rp", algorithms: ["ES256"] };
    const ours = () => jwtVerify(token, remote, rules);
    const peer = () => jwtVerify(token, local, rules);
    const pairing = (name: string, shape: (operation: () => Promise<unknown>) => Contender["run"]) => ({
      name,
      ours: { name: "createRemoteKeySet, warm", run: shape(ours) },
      peer: { name: "createLocalJWKSet", run: shape(peer) },
      operations: 100,
      pairs: 100,
      target: { ratio: 1.1 },
    });
    return {
      pairings: [
        pairing("one after another", sequentially),
        pairing("8 at once", (operation) => concurrently(8, operation)),
      ],
      tearDown: async () => {
        server.closeAllConnections();
        server.close();
        await Promise.all(signers.map((signer) => signer.close()));
      },
    };
  },
});
