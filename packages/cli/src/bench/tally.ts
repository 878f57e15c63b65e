import { createHistogram, type RecordableHistogram } from "node:perf_hooks";

const NS_PER_MS = 1_000_000;
/** Steps of the distribution in each doubling of the time: 4 % wide. */
const STEPS = 16;
/** Longer than any call may take. */
const HIGHEST_NS = 3_600_000 * NS_PER_MS;

/** How many calls took a time from `fromMs` to below `toMs`. */
export interface Bucket {
  readonly fromMs: number;
  readonly toMs: number;
  readonly count: number;
}

/** What was measured of one side at one level. Its memory does not grow with the number of calls. */
export class Tally {
  /** Node's HDR histogram, exact to three figures. */
  readonly #times: RecordableHistogram = createHistogram({ lowest: 1, highest: HIGHEST_NS, figures: 3 });
  readonly #steps = new Map<number, number>();
  readonly #errors = new Map<string, number>();
  #min = Infinity;
  #max = 0;
  #sum = 0;
  /** How long this side was measured. Milliseconds. */
  busyMs = 0;
  /** Attempts of the guard after the first, which the backend counts too. */
  repeats = 0;

  /** Signatures that were made. */
  get signatures(): number {
    return this.#times.count;
  }

  get failures(): number {
    return [...this.#errors.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Failed calls by their code, the most frequent first. */
  get errors(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#errors].toSorted(([, a], [, b]) => b - a));
  }

  record(ms: number): void {
    const ns = Math.min(Math.max(Math.round(ms * NS_PER_MS), 1), HIGHEST_NS);
    this.#times.record(ns);
    const step = Math.floor(Math.log2(ns) * STEPS);
    this.#steps.set(step, (this.#steps.get(step) ?? 0) + 1);
    this.#min = Math.min(this.#min, ms);
    this.#max = Math.max(this.#max, ms);
    this.#sum += ms;
  }

  fail(code: string): void {
    this.#errors.set(code, (this.#errors.get(code) ?? 0) + 1);
  }

  get perSecond(): number {
    return this.busyMs === 0 ? 0 : (this.signatures * 1000) / this.busyMs;
  }

  /** Null without signatures. Milliseconds. */
  get max(): number | null {
    return this.signatures === 0 ? null : this.#max;
  }

  get min(): number | null {
    return this.signatures === 0 ? null : this.#min;
  }

  get mean(): number | null {
    return this.signatures === 0 ? null : this.#sum / this.signatures;
  }

  /** The time that this share of the calls did not exceed. Null if there are too few calls to tell it from the slowest one. */
  percentile(percent: number): number | null {
    if (this.signatures * (100 - percent) < 100 - PRECISION) return null;
    // The last value of its step may be above the slowest call.
    return Math.min(this.#times.percentile(percent) / NS_PER_MS, this.#max);
  }

  /** The distribution in steps of 4 %, without empty ones. */
  get buckets(): readonly Bucket[] {
    return [...this.#steps]
      .toSorted(([a], [b]) => a - b)
      .map(([step, count]) => ({
        fromMs: 2 ** (step / STEPS) / NS_PER_MS,
        toMs: 2 ** ((step + 1) / STEPS) / NS_PER_MS,
        count,
      }));
  }
}

/** For the rounding of 100 - 99.9. */
const PRECISION = 1e-6;
