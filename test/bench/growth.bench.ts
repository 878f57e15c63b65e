// Memory and latency over many signatures and over many rotations: finished work must not make anything grow. A row
// compares the first and the last tenth.
import { createJwksEndpoint, createKeySet, guardSigner, signJwt } from "@signpost/core";
import type { KeySet } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { createOwnKeySet } from "@signpost/verify";
import { CLAIMS } from "./claims.ts";
import { runBench } from "./harness.ts";
import type { Contender, Fact, Pairing } from "./harness.ts";
import { countHeap, grown, usedHeapBytes, type HeapCount } from "./heap.ts";
import { instantSigner } from "./instant-signer.ts";

const SIGNATURES = 1_000_000;
const ROTATIONS = 10_000;
const TENTHS = 10;
/** Times taken in each tenth. */
const SAMPLES = 100;
/** A class with this many more objects at the end than after the first tenth is reported. */
const GROWTH_TOLD = 100;

interface Course {
  /** Milliseconds for one operation, with this many samples for each tenth. */
  readonly times: readonly (readonly number[])[];
  /** At the end of each tenth. */
  readonly heapMiB: readonly number[];
  readonly first: HeapCount;
  readonly last: HeapCount;
}

await runBench({
  name: "growth",
  title: "Memory and latency over 1,000,000 signatures and over 10,000 rotations",
  packages: ["@signpost/core", "@signpost/local", "@signpost/verify"],
  setUp: async (quick) => {
    const part = quick ? 20 : 1;
    const signatures = await courseOf(SIGNATURES / part, await signing());
    const rotations = await courseOf(ROTATIONS / part, await rotating());
    return {
      pairings: [
        pairingOf(`${SIGNATURES / part} tokens signed`, signatures),
        pairingOf(`${ROTATIONS / part} rotations, each published, signed with and verified`, rotations),
      ],
      facts: async () => [
        ...factsOf(`${SIGNATURES / part} tokens`, signatures),
        ...factsOf(`${ROTATIONS / part} rotations`, rotations),
      ],
      tearDown: async () => {},
    };
  },
});

async function signing(): Promise<() => Promise<unknown>> {
  const keys = createKeySet([{ signer: guardSigner(await instantSigner(CLAIMS)) }]);
  return () => signJwt(keys, CLAIMS, { verify: "first" });
}

/** Each time a new key is added, the active one retires and the one before it is removed. */
async function rotating(): Promise<() => Promise<unknown>> {
  const signers = [await openLocalSigner(), await openLocalSigner()];
  let keys: KeySet = createKeySet(signers.map((signer) => ({ signer })));
  const source = (): KeySet => keys;
  const endpoint = createJwksEndpoint({ issuer: "https://op.example", keys: source });
  const own = createOwnKeySet(source);
  return async () => {
    signers.unshift(await openLocalSigner());
    await signers.pop()?.close();
    keys = createKeySet(signers.map((signer) => ({ signer })));
    if (endpoint.respond("GET").status !== 200) throw new Error("the endpoint does not answer");
    await signJwt(source, CLAIMS);
    await own({ alg: "ES256", kid: keys.active.keyId });
  };
}

async function courseOf(count: number, work: () => Promise<unknown>): Promise<Course> {
  const times: number[][] = [];
  const heapMiB: number[] = [];
  let first: HeapCount | undefined;
  // The objects that counting itself creates exist before the first count.
  await countHeap();
  const perSample = Math.max(1, Math.floor(count / TENTHS / SAMPLES));
  for (let tenth = 0; tenth < TENTHS; tenth += 1) {
    const samples: number[] = [];
    for (let sample = 0; sample < count / TENTHS / perSample; sample += 1) {
      const startedAt = performance.now();
      for (let done = 0; done < perSample; done += 1) await work();
      samples.push((performance.now() - startedAt) / perSample);
    }
    times.push(samples);
    heapMiB.push(usedHeapBytes() / 2 ** 20);
    first ??= await countHeap();
  }
  return { times, heapMiB, first: first ?? new Map(), last: await countHeap() };
}

/** The second tenth, when the code has been optimized, against the last. */
function pairingOf(name: string, { times }: Course): Pairing {
  const [early = [], late = []] = [times[1], times.at(-1)];
  const replay = (side: string, samples: readonly number[]): Contender => {
    let next = 0;
    return { name: side, run: async () => samples[next++ % samples.length] ?? Number.NaN };
  };
  const pairs = Math.min(early.length, late.length);
  return { name, ours: replay("last tenth", late), peer: replay("second tenth", early), pairs };
}

function factsOf(name: string, { heapMiB, first, last }: Course): Fact[] {
  const more = grown(first, last, GROWTH_TOLD).map(({ name: what, objects }) => `${what} +${objects}`);
  return [
    { name: `${name}: heap used after each tenth, MiB`, value: heapMiB.map((size) => size.toFixed(2)).join(", ") },
    {
      name: `${name}: classes with ${GROWTH_TOLD} objects more in the last heap snapshot than in the first`,
      value: more.length === 0 ? "none" : more.join(", "),
    },
  ];
}
