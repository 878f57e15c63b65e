// A process that makes its first calls and reports their average time in milliseconds. Nothing in it has run before.
// Arguments: what it does, how often, and the delay of its signer in milliseconds.
import { createHash } from "node:crypto";
import { createKeySet, guardSigner, signJwt } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { CLAIMS } from "./claims.ts";
import { delayedSigner } from "./delayed-signer.ts";

const [what, calls, delayMs] = process.argv.slice(2);
const bare = delayedSigner(await openLocalSigner({ policy: false }), { ms: Number(delayMs) });
const keys = createKeySet([{ signer: guardSigner(bare) }]);
const signingInput = new TextEncoder().encode("header.payload");
const digest = createHash("sha256").update(signingInput).digest();

const startedAt = performance.now();
for (let call = 0; call < Number(calls); call += 1) {
  await (what === "signJwt" ? signJwt(keys, CLAIMS) : bare.sign(digest, { signingInput }));
}
process.send?.((performance.now() - startedAt) / Number(calls));
