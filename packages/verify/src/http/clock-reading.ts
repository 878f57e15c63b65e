import type { Clocks, Instant } from "@signpost/core/adapter";
import { readInstant } from "@signpost/core/adapter";

/** A moment to measure from. What its wall clock was set back before is made up for. */
export interface ClockReading extends Instant {
  /** The wall clock as it is set. Milliseconds since 1970, for dates in headers alone. */
  readonly date: number;
}

/** Less is the rounding of the two clocks, and what time servers correct by degrees. */
const LEAST_STEP_MS = 1000;

/**
 * Reads the two clocks so that nothing grows younger between two readings. Where the monotonic clock stands still, the wall clock
 * alone tells how old a set is: once it is set back, it would have to catch up first, and a revoked key would be trusted until
 * then. So the wall clock goes on from where it was, with what the monotonic one has counted since.
 *
 * Only whole steps are made up for, and never added twice: time does not run faster than the clocks.
 */
export function createClockReader(clocks: Clocks): () => ClockReading {
  let setBackMs = 0;
  // How far the wall clock was ahead of the monotonic one, at most.
  let aheadMs = Number.NEGATIVE_INFINITY;
  return () => {
    const { monotonic, wall: date } = readInstant(clocks);
    const nowAheadMs = date + setBackMs - monotonic;
    if (nowAheadMs < aheadMs - LEAST_STEP_MS) setBackMs += aheadMs - nowAheadMs;
    aheadMs = Math.max(aheadMs, nowAheadMs);
    return { monotonic, wall: date + setBackMs, date };
  };
}
