import { assertOptions, type OptionNames } from "../options/assert-options.ts";
import { readWholeNumber } from "../options/read-values.ts";

/**
 * A quota, as a provider states it: so many calls in so many seconds. It holds in every span of that length, also in the
 * first one, whether the provider counts in fixed or in sliding windows. See {@link createLimiter}.
 */
export interface LimiterRateOptions {
  /** Backend calls in each span of `perSeconds`: 1 to 1,000,000. */
  readonly permits: number;
  /** Length of the span. Whole seconds, 1 to 86,400. */
  readonly perSeconds: number;
  /**
   * How many of the permits may be used at once after a pause. The others are spread evenly over `perSeconds`. 1 to
   * `permits`. Default: a tenth of `permits`, rounded up.
   */
  readonly burst?: number | undefined;
}

const RATE_OPTIONS: OptionNames<LimiterRateOptions> = { permits: true, perSeconds: true, burst: true };

/**
 * A token bucket over the monotonic clock. It is full at first, and full again after a pause, no matter how long the pause
 * was.
 */
export interface TokenBucket {
  /** Milliseconds until `count` permits are there, if none is taken until then. 0: now. */
  readonly waitMs: (count: number) => number;
  /** Takes a permit. Only if `waitMs(1)` is 0. */
  readonly take: () => void;
}

/** `argument`: the option's name, for the error of an invalid one. */
export function createTokenBucket(argument: string, options: LimiterRateOptions): TokenBucket {
  assertOptions(argument, options, RATE_OPTIONS);
  const permits = readWholeNumber(`${argument}.permits`, options.permits, 1, 1_000_000);
  const perSeconds = readWholeNumber(`${argument}.perSeconds`, options.perSeconds, 1, 86_400);
  const { burst: given = Math.ceil(permits / 10) } = options;
  const burst = readWholeNumber(`${argument}.burst`, given, 1, permits);
  // A full bucket and what is added in a span are together one more than the permits of a half-open span.
  const intervalMs = (perSeconds * 1000) / (permits - burst + 1);
  // Permits taken since the bucket was last full, and not a sum of intervals, so that no rounding adds up.
  let fullAt = -Infinity;
  let taken = 0;

  return {
    waitMs: (count) => {
      const ifFull = (count - burst) * intervalMs;
      return Math.max(0, ifFull, fullAt + (taken + count - burst) * intervalMs - performance.now());
    },
    take: () => {
      const now = performance.now();
      if (now >= fullAt + taken * intervalMs) {
        fullAt = now;
        taken = 0;
      }
      taken += 1;
    },
  };
}
