import { fork } from "node:child_process";
import { createHash, createPublicKey, verify as verifySignature } from "node:crypto";
import { once } from "node:events";
import { createKeySet, guardSigner, signJwt } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { CLAIMS } from "./claims.ts";
import { delayedSigner } from "./delayed-signer.ts";
import { makeHot, runBench, sequentially } from "./harness.ts";
import type { Contender, Pairing } from "./harness.ts";

type Side = "signJwt, each verified" | "signJwt, the first verified" | "bare call" | "bare call, and verify";

interface Row {
  readonly name: string;
  /** Of the signer. Milliseconds. */
  readonly delayMs: number;
  readonly ours: Side;
  readonly peer: Side;
  readonly pairs: number;
}

const PAIRS_BY_DELAY_MS: readonly (readonly [delayMs: number, pairs: number])[] = [
  [0, 300],
  [1, 300],
  [10, 200],
  [25, 150],
  [50, 80],
];
const ROWS: readonly Row[] = [
  ...PAIRS_BY_DELAY_MS.flatMap(([delayMs, pairs]): Row[] => [
    { name: "each verified", delayMs, pairs, ours: "signJwt, each verified", peer: "bare call" },
    { name: "the first verified", delayMs, pairs, ours: "signJwt, the first verified", peer: "bare call" },
  ]),
  // Separates our part from node:crypto's.
  {
    name: "against a call that verifies too",
    delayMs: 25,
    pairs: 150,
    ours: "signJwt, each verified",
    peer: "bare call, and verify",
  },
  ...[0, 25].map((delayMs): Row => {
    const pairs = delayMs === 0 ? 300 : 150;
    return {
      name: "verify of node:crypto alone",
      delayMs,
      pairs,
      ours: "bare call, and verify",
      peer: "bare call",
    };
  }),
];
/** For one signature. Milliseconds. */
const CPU_TARGET_MS = { "signJwt, each verified": 0.2, "signJwt, the first verified": 0.05 };
const ADDED_TARGET_MS = 0.2;
/** Calls of each side before the first row. */
const WARM_UP_OPERATIONS = 5_000;
const FIRST_CALLS = 20;

await runBench({
  name: "sign-jwt",
  title: "Latency and processor time that signJwt adds to its signer",
  packages: ["@signpost/core", "@signpost/local"],
  setUp: async () => {
    const local = await openLocalSigner({ policy: false });
    const delay = { ms: 0 };
    const bare = delayedSigner(local, delay);
    const keys = createKeySet([{ signer: guardSigner(bare) }]);
    // Both sides get the signing input, so that both sign natively.
    const signingInput = new TextEncoder().encode("header.payload");
    const digest = createHash("sha256").update(signingInput).digest();
    const key = createPublicKey({ key: { ...local.publicKey }, format: "jwk" });
    const sides: Readonly<Record<Side, () => Promise<unknown>>> = {
      "signJwt, each verified": () => signJwt(keys, CLAIMS),
      "signJwt, the first verified": () => signJwt(keys, CLAIMS, { verify: "first" }),
      "bare call": () => bare.sign(digest, { signingInput }),
      "bare call, and verify": async () => {
        const signature = await bare.sign(digest, { signingInput });
        verifySignature("sha256", signingInput, { key, dsaEncoding: "ieee-p1363" }, signature);
      },
    };
    await makeHot(WARM_UP_OPERATIONS, Object.values(sides));
    return { pairings: [...ROWS.map(pairingOf), firstCalls()], tearDown: () => local.close() };

    function pairingOf({ name, delayMs, ours, peer, pairs }: Row): Pairing {
      const contender = (side: Side): Contender => {
        const run = sequentially(sides[side]);
        return {
          name: side,
          run: (operations) => {
            delay.ms = delayMs;
            return run(operations);
          },
        };
      };
      const isOurs = ours !== "bare call" && ours !== "bare call, and verify";
      return {
        name: `signer of ${delayMs} ms, ${name}`,
        ours: contender(ours),
        peer: contender(peer),
        operations: delayMs === 0 ? 100 : 1,
        pairs,
        // The delayed signer waits busily to be exact, so its processor time says nothing.
        ...(isOurs
          ? { target: { addedMs: ADDED_TARGET_MS, ...(delayMs === 0 ? { addedCpuMs: CPU_TARGET_MS[ours] } : {}) } }
          : {}),
      };
    }
  },
});

/** Everything else here is hot. This row shows the cost before a process is hot. */
function firstCalls(): Pairing {
  const delayMs = 25;
  const contender = (what: string): Contender => ({
    name: what,
    run: async () => {
      const args = [what, String(FIRST_CALLS), String(delayMs)];
      const child = fork(new URL("./first-calls-program.js", import.meta.url), args);
      const exited = once(child, "exit");
      const [ms] = (await Promise.race([once(child, "message"), exited.then(() => [])])) as [number?];
      await exited;
      if (ms === undefined) throw new Error(`a process of first calls failed: ${what}`);
      return ms;
    },
  });
  return {
    name: `signer of ${delayMs} ms, the first ${FIRST_CALLS} calls of a process, each verified`,
    ours: contender("signJwt"),
    peer: contender("bare call"),
    pairs: 12,
  };
}
