// Runs the compiled packages. Prints how many of the tokens that a JWT verifier has verified are still in the heap.
import { createKeySet, signJwt } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { createJwtVerifier, createOwnKeySet } from "@signpost/verify";
import { text } from "node:stream/consumers";
import { getHeapSnapshot } from "node:v8";

const issuer = "https://op.example";
const keys = createKeySet([{ signer: await openLocalSigner() }]);
const verifier = createJwtVerifier({ type: "id_token", issuer, audience: "rp", keys: createOwnKeySet(keys) });

async function verifyOne() {
  const exp = Math.floor(Date.now() / 1000) + 60;
  const token = await signJwt(keys, { iss: issuer, aud: "rp", sub: "s", iat: exp - 60, exp });
  // As from a request: one text, with no other owner.
  await verifier.verify(Buffer.from(token).toString("latin1"));
}

for (let count = 0; count < 3; count += 1) await verifyOne();
const { strings } = JSON.parse(await text(getHeapSnapshot()));
console.log(strings.filter((string) => /^eyJ[\w-]+\.eyJ[\w-]+\.[\w-]{86}$/.test(string)).length);
// The verifier is still in use.
await verifyOne();
