/** A number with its 95 % confidence bounds. */
export interface Estimate {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

export interface Spread {
  readonly median: number;
  readonly p25: number;
  readonly p75: number;
  readonly p99: number;
}

const TAIL = 0.025;

export function spreadOf(samples: readonly number[]): Spread {
  const sorted = ascending(samples);
  return {
    median: quantile(sorted, 0.5),
    p25: quantile(sorted, 0.25),
    p75: quantile(sorted, 0.75),
    p99: quantile(sorted, 0.99),
  };
}

/**
 * The median and its 95 % confidence interval by order statistics: how many of `n` samples lie below the true
 * median is binomial with p = ½, whatever the distribution. Exact, and the same on every run. Below six samples
 * there is no such interval: the bounds are the extremes.
 */
export function medianEstimate(samples: readonly number[]): Estimate {
  const sorted = ascending(samples);
  const rank = Math.max(lowerRank(sorted.length), 1);
  return { value: quantile(sorted, 0.5), low: at(sorted, rank - 1), high: at(sorted, sorted.length - rank) };
}

/** The largest rank k (from 1) with P(B < k) ≤ 2.5 % for B ~ Binomial(n, ½); 0 when there is none. */
function lowerRank(n: number): number {
  let logTerm = n * Math.log(0.5);
  let cumulated = Math.exp(logTerm);
  let rank = 0;
  while (cumulated <= TAIL) {
    rank += 1;
    logTerm += Math.log((n - rank + 1) / rank);
    cumulated += Math.exp(logTerm);
  }
  return rank;
}

/** The value below which this part of the samples lies. */
export function quantileOf(samples: readonly number[], fraction: number): number {
  return quantile(ascending(samples), fraction);
}

/** Interpolated between the neighbouring samples. */
function quantile(sorted: readonly number[], fraction: number): number {
  const position = (sorted.length - 1) * fraction;
  const below = at(sorted, Math.floor(position));
  return below + (at(sorted, Math.ceil(position)) - below) * (position - Math.floor(position));
}

function ascending(samples: readonly number[]): number[] {
  if (samples.length === 0) throw new RangeError("expected at least one sample");
  return samples.toSorted((a, b) => a - b);
}

function at(sorted: readonly number[], index: number): number {
  return sorted[index] ?? Number.NaN;
}
