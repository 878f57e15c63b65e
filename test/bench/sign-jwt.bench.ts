import { createHash, createPublicKey, verify as verifySignature } from "node:crypto";
import { createKeySet, guardSigner, signJwt } from "@signpost/core";
import type { SignJwtOptions } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { CLAIMS } from "./claims.ts";
import { delayedSigner } from "./delayed-signer.ts";
import { runBench, sequentially } from "./harness.ts";
import type { Pairing } from "./harness.ts";

interface Row {
  /** Of the signer. Milliseconds. */
  readonly delayMs: number;
  readonly verify: SignJwtOptions["verify"];
  readonly pairs: number;
  /** The peer's signature is verified too, by node:crypto alone. */
  readonly peerVerifies?: boolean;
}

const ROWS: readonly Row[] = [
  { delayMs: 0, verify: "always", pairs: 300 },
  { delayMs: 0, verify: "first", pairs: 300 },
  { delayMs: 1, verify: "always", pairs: 300 },
  { delayMs: 10, verify: "always", pairs: 300 },
  { delayMs: 25, verify: "always", pairs: 200 },
  { delayMs: 25, verify: "first", pairs: 200 },
  { delayMs: 25, verify: "always", pairs: 200, peerVerifies: true },
  { delayMs: 50, verify: "always", pairs: 120 },
];
/** Of one signature. Milliseconds. */
const CPU_TARGET = { always: 0.2, first: 0.05 };

await runBench({
  name: "sign-jwt",
  title: "Latency and processor time that signJwt adds to the signer that it calls",
  packages: ["@signpost/core", "@signpost/local"],
  setUp: async () => {
    const local = await openLocalSigner({ policy: false });
    return { pairings: ROWS.map(pairingOf), tearDown: () => local.close() };

    /** The signing input comes along on both sides, so that both sign natively. */
    function pairingOf({ delayMs, verify = "always", pairs, peerVerifies = false }: Row): Pairing {
      const bare = delayMs === 0 ? local : delayedSigner(local, delayMs);
      const keys = createKeySet([{ signer: guardSigner(bare) }]);
      const signingInput = new TextEncoder().encode("header.payload");
      const digest = createHash("sha256").update(signingInput).digest();
      const key = createPublicKey({ key: { ...local.publicKey }, format: "jwk" });
      const byHand = async (): Promise<void> => {
        const signature = await bare.sign(digest, { signingInput });
        if (peerVerifies) verifySignature("sha256", signingInput, { key, dsaEncoding: "ieee-p1363" }, signature);
      };
      return {
        name: `signer of ${delayMs} ms, ${verify === "always" ? "each signature verified" : "the first one verified"}`,
        ours: { name: "signJwt", run: sequentially(() => signJwt(keys, CLAIMS, { verify })) },
        peer: {
          name: peerVerifies ? "the signer, and verify of node:crypto" : "the signer called bare",
          run: sequentially(byHand),
        },
        operations: delayMs === 0 ? 100 : 1,
        pairs,
        // The delayed signer waits busily to be exact, so that its processor time says nothing.
        target: { addedMs: 0.2, ...(delayMs === 0 ? { addedCpuMs: CPU_TARGET[verify] } : {}) },
      };
    }
  },
});
