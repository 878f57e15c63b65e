// Runs the compiled packages on whichever runtime starts it. Prints one line of JSON: what the JWT verifier did with good and with
// forged tokens, one at a time and many at once, by every kind of key function.
import { createServer } from "node:http";
import { createJwksEndpoint, createKeySet, signJwt } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { createJwtVerifier, createRemoteKeySet } from "@signpost/verify";
import { createLocalJWKSet, exportJWK, generateKeyPair, SignJWT } from "jose";

const server = createServer();
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const issuer = `http://127.0.0.1:${server.address().port}`;
const keys = createKeySet([{ signer: await openLocalSigner() }]);
const endpoint = createJwksEndpoint({ issuer, keys });
server.on("request", endpoint.listener);

const exp = Math.floor(Date.now() / 1000) + 60;
const claims = { iss: issuer, aud: "rp", sub: "s", iat: exp - 60, exp };
const outcomeOf = (verified) =>
  verified.then(
    () => "verified",
    (error) => error.code ?? String(error),
  );

async function outcomesOf(verifier, token) {
  const forged = `${token.slice(0, token.lastIndexOf("."))}.${"A".repeat(token.length - token.lastIndexOf(".") - 1)}`;
  const many = Array.from({ length: 8 }, (_, index) => outcomeOf(verifier.verify(index % 2 === 0 ? token : forged)));
  return {
    good: await outcomeOf(verifier.verify(token)),
    forged: await outcomeOf(verifier.verify(forged)),
    many: [...new Set(await Promise.all(many))],
  };
}

const open = (keyFunction, algorithms) =>
  createJwtVerifier({ type: "id_token", issuer, audience: "rp", keys: keyFunction, algorithms });
const ourToken = await signJwt(keys, claims);
const outcomes = {
  remote: await outcomesOf(open(createRemoteKeySet(endpoint.jwksUri, { allowInsecureLoopback: true })), ourToken),
  joseLocal: await outcomesOf(open(createLocalJWKSet(await (await fetch(endpoint.jwksUri)).json())), ourToken),
};
for (const alg of ["RS256", "PS256", "ES384", "EdDSA"]) {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), alg, kid: "k" }] };
  const token = await new SignJWT(claims).setProtectedHeader({ alg, kid: "k" }).sign(privateKey);
  outcomes[alg] = await outcomesOf(open(createLocalJWKSet(jwks), [alg]), token);
}
console.log(JSON.stringify(outcomes));
process.exit();
