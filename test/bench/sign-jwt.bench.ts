import { createHash } from "node:crypto";
import { createKeySet, guardSigner, signJwt } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { delayedSigner } from "./delayed-signer.ts";
import { runBench, sequentially } from "./harness.ts";
import type { Pairing } from "./harness.ts";

/** An ID token of ordinary size. */
const CLAIMS = {
  iss: "https://op.example",
  sub: "248289761001",
  aud: "s6BhdRkqt3",
  nonce: "n-0S6_WzA2Mj",
  auth_time: 1_311_280_969,
  exp: 1_311_281_970,
  acr: "urn:mace:incommon:iap:silver",
};

await runBench({
  name: "sign-jwt",
  title: "Latency that signJwt adds to the signer that it calls",
  packages: ["@signpost/core", "@signpost/local"],
  setUp: async () => {
    const local = await openLocalSigner({ policy: false });
    return {
      pairings: [pairingAt(10, 400), pairingAt(0, 400)],
      tearDown: () => local.close(),
    };

    /** The signing input comes along on both sides, so that both sign natively. */
    function pairingAt(delayMs: number, pairs: number): Pairing {
      const bare = delayedSigner(local, delayMs);
      const keys = createKeySet([{ signer: guardSigner(bare) }]);
      const signingInput = new TextEncoder().encode("header.payload");
      const digest = createHash("sha256").update(signingInput).digest();
      return {
        name: `signer of ${delayMs} ms`,
        ours: { name: "signJwt, verified", run: sequentially(() => signJwt(keys, CLAIMS)) },
        peer: { name: "the signer called bare", run: sequentially(() => bare.sign(digest, { signingInput })) },
        operations: delayMs === 0 ? 50 : 1,
        pairs,
        target: { addedMs: 0.2, ...(delayMs === 0 ? { addedCpuMs: 0.2 } : {}) },
      };
    }
  },
});
