import type { Clocks, Instant } from "@signpost/core/adapter";
import { readInstant } from "@signpost/core/adapter";

/** An instant to measure from. Earlier steps back of the wall clock are compensated. */
export interface ClockReading extends Instant {
  /** The wall clock, uncorrected. Milliseconds since 1970. Only for dates in headers. */
  readonly date: number;
}

/** A smaller difference is rounding of the two clocks, or a gradual correction by a time server. */
const LEAST_STEP_MS = 1000;

/**
 * Reads the two clocks so that no age decreases between two readings. If the monotonic clock stops, only the wall clock tells how
 * old a set is. If the wall clock is then set back, it would have to catch up first, and a revoked key would be trusted until then.
 * So the wall clock continues from its last value, plus the time that the monotonic clock has counted since.
 *
 * Only full steps back are compensated, and each only once. Time never runs faster than the clocks.
 */
export function createClockReader(clocks: Clocks): () => ClockReading {
  let setBackMs = 0;
  // The largest lead of the wall clock over the monotonic clock so far.
  let aheadMs = Number.NEGATIVE_INFINITY;
  return () => {
    const { monotonic, wall: date } = readInstant(clocks);
    const nowAheadMs = date + setBackMs - monotonic;
    if (nowAheadMs < aheadMs - LEAST_STEP_MS) setBackMs += aheadMs - nowAheadMs;
    aheadMs = Math.max(aheadMs, nowAheadMs);
    return { monotonic, wall: date + setBackMs, date };
  };
}
