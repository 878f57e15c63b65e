import { setTimeout as pause } from "node:timers/promises";
import { createKeySet, guardSigner, signJwt } from "@signpost/core";
import type { Signer } from "@signpost/core";
import { CLAIMS } from "./claims.ts";
import { concurrently, runBench } from "./harness.ts";
import type { Contender, Pairing } from "./harness.ts";
import { instantSigner } from "./instant-signer.ts";

const DELAY_MS = 25;
const CONCURRENCIES = [1, 4, 16, 64, 256];
/** 97 % of the bare call's throughput. */
const TARGET_RATIO = 1 / 0.97;
const ROUNDS = 4;
const digest = new Uint8Array(32);

await runBench({
  name: "throughput",
  title: "Signatures and tokens at once through a signer of 25 ms",
  packages: ["@signpost/core"],
  setUp: async () => {
    const instant = await instantSigner(CLAIMS);
    const slow: Signer = {
      ...instant,
      sign: async (digest) => {
        await pause(DELAY_MS);
        return instant.sign(digest);
      },
    };
    return {
      pairings: [
        ...CONCURRENCIES.map((concurrency) => guardAt(concurrency, slow)),
        ...CONCURRENCIES.map((concurrency) => tokensAt(concurrency, slow)),
      ],
      tearDown: async () => {},
    };
  },
});

function pairingAt(name: string, concurrency: number, slow: Signer, ours: Contender): Pairing {
  return {
    name: `${name}, ${concurrency} at once`,
    ours,
    peer: { name: "the signer called bare", run: concurrently(concurrency, () => slow.sign(digest)) },
    operations: ROUNDS * concurrency,
    pairs: 24,
    idealMs: DELAY_MS / concurrency,
    target: { ratio: TARGET_RATIO },
  };
}

function guardAt(concurrency: number, slow: Signer): Pairing {
  const signer = guardSigner(slow, { concurrency });
  const run = concurrently(concurrency, () => signer.sign(digest));
  return pairingAt("signatures", concurrency, slow, { name: "guarded signer", run });
}

/** The tokens of one round become ready together, and one thread verifies them one after another. */
function tokensAt(concurrency: number, slow: Signer): Pairing {
  const keys = createKeySet([{ signer: guardSigner(slow, { concurrency }) }]);
  const run = concurrently(concurrency, () => signJwt(keys, CLAIMS));
  return pairingAt("verified tokens", concurrency, slow, { name: "signJwt", run });
}
