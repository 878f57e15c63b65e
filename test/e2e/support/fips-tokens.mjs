// What the programs in FIPS mode share: a step whose refusal is a result, and a token that two libraries verify.
import { createServer } from "node:http";
import { createJwksEndpoint, createKeySet, signJwt } from "@signpost/core";
import { createJwtVerifier, createRemoteKeySet } from "@signpost/verify";
import { jwtVerify } from "jose";

const now = Math.floor(Date.now() / 1000);

/** What a step gave, or the code with which it was refused. */
export async function outcomeOf(step) {
  try {
    return await step();
  } catch (error) {
    return error.code ?? String(error);
  }
}

/** A token by this signer, verified through a key set over HTTP by Signpost and by jose, and once more with one bit changed. */
export async function tokensOf(signer) {
  const server = createServer();
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const keys = createKeySet([{ signer }]);
  const endpointOfKeys = createJwksEndpoint({ issuer, keys });
  server.on("request", endpointOfKeys.listener);
  try {
    const jwt = await signJwt(keys, { iss: issuer, aud: "rp", sub: "s", iat: now, exp: now + 60 });
    const keySet = createRemoteKeySet(endpointOfKeys.jwksUri, { allowInsecureLoopback: true });
    const verifier = createJwtVerifier({ type: "id_token", issuer, audience: "rp", keys: keySet });
    const changed = `${jwt.slice(0, -10)}${jwt.at(-10) === "A" ? "B" : "A"}${jwt.slice(-9)}`;
    return {
      verifier: (await verifier.verify(jwt)).claims.sub,
      jose: (await jwtVerify(jwt, keySet, { issuer, audience: "rp", algorithms: ["ES256"] })).payload.sub,
      changed: await outcomeOf(() => verifier.verify(changed)),
    };
  } finally {
    server.closeAllConnections();
    server.close();
    await signer.close();
  }
}
