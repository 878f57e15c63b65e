import { medianEstimate, spreadOf } from "./statistics.ts";
import type { Estimate, Spread } from "./statistics.ts";

/**
 * One side of a pair. `run` does that many operations, one after another or as many at once as it is about. Where the
 * time from its call to its end is not what it is about, it resolves with the milliseconds per operation instead.
 */
export interface Contender {
  readonly name: string;
  readonly run: (operations: number) => Promise<number | void>;
}

/** Ours and a peer, doing the same work. */
export interface Pairing {
  readonly name: string;
  readonly ours: Contender;
  readonly peer: Contender;
  /** Operations in one sample: enough that a sample is long compared with the clock's resolution. Default 1. */
  readonly operations?: number | undefined;
  /** Samples of each side. */
  readonly pairs: number;
  /** A lower limit in milliseconds per operation, if there is one. */
  readonly idealMs?: number | undefined;
  /** Targets for the medians. Reported, never enforced. */
  readonly target?: Target | undefined;
  /** Reports the ratio of processor time without a target for it. */
  readonly showsCpuRatio?: boolean | undefined;
}

export interface Target {
  /** How many milliseconds longer ours takes, per operation. */
  readonly addedMs?: number | undefined;
  /** Ours as a multiple of the peer. */
  readonly ratio?: number | undefined;
  /** How many milliseconds of processor time ours takes more, per operation. */
  readonly addedCpuMs?: number | undefined;
  /** The processor time of ours as a multiple of the peer's. */
  readonly cpuRatio?: number | undefined;
  /** The part of the limit `idealMs` that ours reaches at least; 1 at the limit. */
  readonly ofIdeal?: number | undefined;
}

/** Milliseconds per operation. */
export interface PairingResult {
  readonly name: string;
  readonly ours: Side;
  readonly peer: Side;
  readonly pairs: number;
  readonly operations: number;
  /** Median of the paired differences, ours minus peer. */
  readonly addedMs: Estimate;
  /** Median of the paired ratios, ours over peer. */
  readonly ratio: Estimate;
  /** Median of the paired differences in processor time of this process, all threads. */
  readonly addedCpuMs: Estimate;
  /** Median of the paired ratios of processor time. Older reports do not have it. */
  readonly cpuRatio?: Estimate;
  /** Present if there is a limit: the limit as a part of what each side took, 1 at the limit. */
  readonly ofIdeal?: { readonly ours: number; readonly peer: number };
  readonly target: Target;
  readonly showsCpuRatio?: boolean;
}

export interface Side {
  readonly name: string;
  readonly ms: Spread;
  readonly cpuMs: Spread;
}

/** Time and processor time, each in milliseconds from an arbitrary start. */
export interface Clock {
  readonly nowMs: () => number;
  readonly cpuMs: () => number;
}

const PROCESS_CLOCK: Clock = {
  nowMs: () => performance.now(),
  cpuMs: () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  },
};

interface Sample {
  readonly ms: number;
  readonly cpuMs: number;
}

const WARM_UP_FRACTION = 0.1;
const MIN_WARM_UP_PAIRS = 3;

/**
 * Takes samples of both in turn, the first place changing hands each time (so that a slow drift of the machine
 * and what one leaves behind for the next meet both alike), after a warm-up that is thrown away.
 */
export async function measure(pairing: Pairing, clock: Clock = PROCESS_CLOCK): Promise<PairingResult> {
  const { ours, peer, operations = 1, pairs, idealMs, target = {} } = pairing;
  const warmUpPairs = Math.max(MIN_WARM_UP_PAIRS, Math.ceil(pairs * WARM_UP_FRACTION));
  const takeOurs = (): Promise<Sample> => takeSample(ours, operations, clock);
  const takePeer = (): Promise<Sample> => takeSample(peer, operations, clock);
  for (let pair = 0; pair < warmUpPairs; pair += 1) await samplePair(takeOurs, takePeer, pair);

  const oursSamples: Sample[] = [];
  const peerSamples: Sample[] = [];
  for (let pair = 0; pair < pairs; pair += 1) {
    const [oursSample, peerSample] = await samplePair(takeOurs, takePeer, pair);
    oursSamples.push(oursSample);
    peerSamples.push(peerSample);
  }

  const paired = (combine: (ours: Sample, peer: Sample) => number): Estimate =>
    medianEstimate(oursSamples.map((sample, index) => combine(sample, peerSamples[index] ?? sample)));
  const result = {
    addedMs: paired((a, b) => a.ms - b.ms),
    ratio: paired((a, b) => a.ms / b.ms),
    addedCpuMs: paired((a, b) => a.cpuMs - b.cpuMs),
    cpuRatio: paired((a, b) => a.cpuMs / b.cpuMs),
  };
  const sides = { ours: sideOf(ours, oursSamples), peer: sideOf(peer, peerSamples) };
  return {
    name: pairing.name,
    ...sides,
    pairs,
    operations,
    ...result,
    ...(idealMs === undefined
      ? {}
      : { ofIdeal: { ours: idealMs / sides.ours.ms.median, peer: idealMs / sides.peer.ms.median } }),
    target,
    ...(pairing.showsCpuRatio === true ? { showsCpuRatio: true } : {}),
  };
}

async function samplePair(
  takeOurs: () => Promise<Sample>,
  takePeer: () => Promise<Sample>,
  pair: number,
): Promise<[ours: Sample, peer: Sample]> {
  if (pair % 2 === 0) {
    const first = await takeOurs();
    return [first, await takePeer()];
  }
  const first = await takePeer();
  return [await takeOurs(), first];
}

async function takeSample({ run }: Contender, operations: number, clock: Clock): Promise<Sample> {
  const cpuBefore = clock.cpuMs();
  const startedAt = clock.nowMs();
  const reading = await run(operations);
  const ms = reading ?? (clock.nowMs() - startedAt) / operations;
  return { ms, cpuMs: (clock.cpuMs() - cpuBefore) / operations };
}

function sideOf({ name }: Contender, samples: readonly Sample[]): Side {
  return { name, ms: spreadOf(samples.map(({ ms }) => ms)), cpuMs: spreadOf(samples.map(({ cpuMs }) => cpuMs)) };
}

/** One operation after another. */
export function sequentially(operation: () => Promise<unknown>): Contender["run"] {
  return async (operations) => {
    for (let done = 0; done < operations; done += 1) await operation();
  };
}

/** Concurrent: each of `concurrency` callers starts its next operation when its last one has ended. */
export function concurrently(concurrency: number, operation: () => Promise<unknown>): Contender["run"] {
  return async (operations) => {
    let started = 0;
    const caller = async (): Promise<void> => {
      while (started < operations) {
        started += 1;
        await operation();
      }
    };
    await Promise.all(Array.from({ length: concurrency }, caller));
  };
}

/**
 * Calls all of them so often, one after the other, before anything is measured: until then the engine interprets code
 * that it has long compiled in a process that serves, and the rows above some milliseconds would never make it hot.
 */
export async function makeHot(times: number, operations: readonly (() => Promise<unknown>)[]): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    for (const operation of operations) await operation();
  }
}
