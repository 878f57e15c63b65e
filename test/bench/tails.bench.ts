// How long the slowest calls take if the backend is usually quick, with and without hedges, and what the hedges cost. In
// simulated time.
import { guardSigner, type GuardPolicy, type Signer, SignerError } from "@signpost/core";
import { CLAIMS } from "./claims.ts";
import { concurrently, type Fact, type Pairing, runBench } from "./harness.ts";
import { instantSigner } from "./instant-signer.ts";
import { quantileOf } from "./statistics.ts";
import { stragglingService, type ServiceHealth } from "./straggling-service.ts";
import { inVirtualTime } from "./virtual-time.ts";

const HEDGE_AFTER_MS = 80;
const CALLERS = [1, 4, 16, 64, 256];
const CALLS = 8000;
const PAIRS = 8;
const HEALTHY_MS = 5000;
const OUTAGE_MS = 10_000;
/** The slowest call in a thousand, as a multiple of the median. */
const target = { ratio: 5 };
const MAX_EXTRA = 0.05;
const digest = new Uint8Array(32);
const unavailable = (): SignerError => new SignerError("unavailable", "simulated");

interface Run {
  /** Milliseconds of each call. */
  readonly ms: readonly number[];
  readonly failed: number;
  /** Backend calls beyond one for each call, as a part of the calls. */
  readonly extra: number;
}

type Change = (health: ServiceHealth) => void;

/** Calls of so many callers. Concurrency is no limit. */
function play(inner: Signer, policy: GuardPolicy, callers: number, seed: number, change?: Change): Promise<Run> {
  return inVirtualTime(async () => {
    const service = stragglingService(inner, seed, unavailable);
    change?.(service.health);
    const signer = guardSigner(service.signer, { concurrency: 10_000, ...policy });
    const ms: number[] = [];
    let failed = 0;
    const sign = async (): Promise<void> => {
      const startedAt = performance.now();
      await signer.sign(digest).catch(() => (failed += 1));
      ms.push(performance.now() - startedAt);
    };
    await concurrently(callers, sign)(CALLS);
    return { ms, failed, extra: service.calls() / CALLS - 1 };
  });
}

/** Hedges that an outage of ten seconds adds, after five seconds in good health. */
function hedgesInOutage(inner: Signer, callers: number, outage: ServiceHealth["outage"]): Promise<number> {
  return inVirtualTime(async () => {
    const service = stragglingService(inner, callers, unavailable);
    const signer = guardSigner(service.signer, { concurrency: 10_000, hedgeAfterMs: HEDGE_AFTER_MS });
    const hedges = (): number => Number(/hedged (\d+)/.exec(signer.health().notes.join())?.[1] ?? 0);
    const until = async (endMs: number): Promise<void> => {
      const caller = async (): Promise<void> => {
        while (performance.now() < endMs) await signer.sign(digest).catch(() => {});
      };
      await Promise.all(Array.from({ length: callers }, caller));
    };
    let before = 0;
    setTimeout(() => {
      service.health.outage = outage;
      before = hedges();
    }, HEALTHY_MS);
    await until(HEALTHY_MS + OUTAGE_MS);
    return hedges() - before;
  });
}

const percent = (part: number): string => `${(100 * part).toFixed(2)} %`;
const hedged = { hedgeAfterMs: HEDGE_AFTER_MS };

await runBench({
  name: "tails",
  title: "Tails: the slowest calls through a backend of 40 ms with 1 % stragglers, in simulated time",
  packages: ["@signpost/core"],
  setUp: async () => {
    const inner = await instantSigner(CLAIMS);
    /** Rows share the runs of a policy: both sides of a pair see the same delays. */
    const runs = new Map<string, Promise<Run>>();
    const side = (name: string, policy: GuardPolicy, callers: number, fraction: number) => {
      let seed = 0;
      const run = async (): Promise<number> => {
        const id = JSON.stringify([policy, callers, (seed += 1)]);
        const played = runs.get(id) ?? play(inner, policy, callers, seed);
        runs.set(id, played);
        return quantileOf((await played).ms, fraction);
      };
      return { name, run };
    };
    const versusMedian = (what: string, policy: GuardPolicy, callers: number): Pairing => ({
      name: `${callers} callers, p99.9, ${what}`,
      ours: side("p99.9", policy, callers, 0.999),
      peer: side("its median", policy, callers, 0.5),
      pairs: PAIRS,
    });
    const versusNone = (what: string, fraction: number): Pairing => ({
      name: `64 callers, ${what}`,
      ours: side("hedges after 80 ms", hedged, 64, fraction),
      peer: side("no hedges", {}, 64, fraction),
      pairs: PAIRS,
    });
    const pairings: Pairing[] = [
      ...CALLERS.map((callers) => ({ ...versusMedian("hedges after 80 ms", hedged, callers), target })),
      versusMedian("no hedges", {}, 64),
      ...[1000, 500, 250, 150].map((attemptTimeoutMs) =>
        versusMedian(`no hedges, attemptTimeoutMs ${attemptTimeoutMs}`, { attemptTimeoutMs }, 64),
      ),
      versusNone("median", 0.5),
      versusNone("p99", 0.99),
      versusNone("p99.5", 0.995),
      versusNone("p99.9", 0.999),
    ];
    return { pairings, tearDown: async () => {}, facts: () => factsOf(inner) };
  },
});

async function factsOf(inner: Signer): Promise<Fact[]> {
  const facts: Fact[] = [];
  for (const callers of CALLERS) {
    const { extra } = await play(inner, hedged, callers, 1);
    facts.push({
      name: `${callers} callers, hedges after 80 ms: extra calls`,
      value: percent(extra),
      target: { words: `extra calls ≤ ${percent(MAX_EXTRA)}`, isMet: extra <= MAX_EXTRA },
    });
  }
  for (const callers of CALLERS) {
    for (const outage of ["silent", "failing", "silent for new calls"] as const) {
      const hedges = await hedgesInOutage(inner, callers, outage);
      facts.push({
        name: `${callers} callers, outage, ${outage}: extra calls`,
        value: String(hedges),
        // A single caller cannot know whether one call is late or all are. And as long as calls from before the outage are
        // answered, those of them that are late get hedges.
        ...(callers > 1 &&
          outage !== "silent for new calls" && {
            target: { words: "extra calls in an outage: 0", isMet: hedges === 0 },
          }),
      });
    }
  }
  const policies: readonly (readonly [string, GuardPolicy])[] = [
    ["no hedges", {}],
    ["hedges after 80 ms", hedged],
    ...[1000, 500, 250, 150].map(
      (attemptTimeoutMs) => [`attemptTimeoutMs ${attemptTimeoutMs}`, { attemptTimeoutMs }] as const,
    ),
  ];
  for (const slowdown of [1, 5, 10]) {
    for (const [name, policy] of policies) {
      const { extra, failed } = await play(inner, policy, 64, 1, (health) => (health.slowdown = slowdown));
      facts.push({
        name: `64 callers, a median of ${40 * slowdown} ms, ${name}: extra calls, failed calls`,
        value: `${percent(extra)}, ${percent(failed / CALLS)}`,
      });
    }
  }
  return facts;
}
