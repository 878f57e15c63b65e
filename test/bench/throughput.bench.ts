import { setTimeout as pause } from "node:timers/promises";
import { createKeySet, guardSigner, signJwt } from "@signpost/core";
import type { Signer } from "@signpost/core";
import { CLAIMS } from "./claims.ts";
import { concurrently, makeHot, runBench } from "./harness.ts";
import type { Contender, Pairing } from "./harness.ts";
import { instantSigner } from "./instant-signer.ts";

const DELAY_MS = 25;
const CONCURRENCIES = [1, 4, 16, 64, 256];
/** 97 % of the bare call's throughput. */
const TARGET_RATIO = 1 / 0.97;
/** Where each token is verified, by the number of callers. Two processors allow 1.32 with 256. */
const VERIFIED_TARGET_RATIO: Readonly<Record<number, number>> = { 64: 1.11, 256: 1.42 };
/** How much longer a verified token may hold the event loop. Milliseconds. */
const HELD_TARGET_MS = 0.04;
const ROUNDS = 4;
/** Calls of each side before the first row, with no delay in the signer. */
const WARM_UP_OPERATIONS = 5_000;
const digest = new Uint8Array(32);

await runBench({
  name: "throughput",
  title: "Concurrent signatures and tokens through a signer of 25 ms",
  packages: ["@signpost/core"],
  setUp: async () => {
    const instant = await instantSigner(CLAIMS);
    let delayMs = 0;
    const slow: Signer = {
      ...instant,
      sign: async (bytes) => {
        if (delayMs > 0) await pause(delayMs);
        return instant.sign(bytes);
      },
    };
    const signer = guardSigner(slow, { concurrency: Math.max(...CONCURRENCIES) });
    const keys = createKeySet([{ signer }]);
    const bare = (): Promise<unknown> => slow.sign(digest);
    const kinds = [
      { what: "signatures", name: "guarded signer", ours: (): Promise<unknown> => signer.sign(digest) },
      {
        what: "tokens, the first verified",
        name: "signJwt",
        ours: (): Promise<unknown> => signJwt(keys, CLAIMS, { verify: "first" }),
      },
      {
        what: "tokens, each verified",
        name: "signJwt",
        ours: (): Promise<unknown> => signJwt(keys, CLAIMS),
        targets: VERIFIED_TARGET_RATIO,
      },
    ];
    await makeHot(WARM_UP_OPERATIONS, [bare, ...kinds.map(({ ours }) => ours)]);
    delayMs = DELAY_MS;
    const pairings = kinds.flatMap(({ what, name, ours, targets }) =>
      CONCURRENCIES.map((concurrency): Pairing => ({
        name: `${what}, ${concurrency} at once`,
        ours: { name, run: concurrently(concurrency, ours) },
        peer: { name: "the bare signer", run: concurrently(concurrency, bare) },
        operations: ROUNDS * concurrency,
        pairs: 20,
        idealMs: DELAY_MS / concurrency,
        target: { ratio: targets?.[concurrency] ?? TARGET_RATIO },
      })),
    );
    const held = [64, 256].map((concurrency): Pairing => ({
      name: `the event loop held by a token, each verified, ${concurrency} at once`,
      ours: { name: "signJwt", run: loopHeld(concurrently(concurrency, () => signJwt(keys, CLAIMS))) },
      peer: { name: "the bare signer", run: loopHeld(concurrently(concurrency, bare)) },
      operations: ROUNDS * concurrency,
      pairs: 20,
      target: { addedMs: HELD_TARGET_MS },
    }));
    return { pairings: [...pairings, ...held], tearDown: () => signer.close() };
  },
});

/** The same work. Its reading is how long the event loop was not idle, in milliseconds for each operation. */
function loopHeld(run: Contender["run"]): Contender["run"] {
  return async (operations) => {
    const before = performance.eventLoopUtilization();
    await run(operations);
    return performance.eventLoopUtilization(before).active / operations;
  };
}
