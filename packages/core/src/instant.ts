import { ConfigurationError } from "./errors.ts";
import { given } from "./given.ts";

/**
 * A point in time on two clocks. The monotonic clock is never set, but it may stop while a machine sleeps or a serverless
 * function is frozen. On Linux it does not count suspended time. The wall clock counts that time, but it can be set
 * forward or back.
 */
export interface Instant {
  /** Milliseconds since an arbitrary start, on a clock that only goes forward. */
  readonly monotonic: number;
  /** Milliseconds since 1970. */
  readonly wall: number;
}

/** Custom clocks. */
export interface Clocks {
  /** Returns monotonic milliseconds. Default `performance.now`. */
  readonly clock?: (() => number) | undefined;
  /** Returns milliseconds since 1970. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/**
 * The current time on both clocks.
 *
 * @throws ConfigurationError for a clock that does not return a finite number.
 * @example
 * ```ts
 * import { elapsedMs, readInstant } from "@signpost/core/adapter";
 *
 * const storedAt = readInstant();
 * export const isFresh = () => elapsedMs(storedAt) < 300_000;
 * ```
 */
export function readInstant({ clock, now }: Clocks = {}): Instant {
  return {
    monotonic: clock === undefined ? performance.now() : milliseconds("clock", clock()),
    wall: now === undefined ? Date.now() : milliseconds("now", now()),
  };
}

/** NaN compares false with everything, so no limit would work. */
function milliseconds(name: string, value: number): number {
  if (Number.isFinite(value)) return value;
  throw new ConfigurationError(name, `expected a function that returns milliseconds, got the result ${given(value)}`);
}

/**
 * Milliseconds since `since` on the faster of the two clocks. Use it for limits that must not last too long: trust in
 * fetched data, throttles, remembered failures. The limit is reached when either clock reaches it.
 *
 * Never add up several results. Each may come from a different clock, so the sum would run faster than either.
 *
 * @example
 * ```ts
 * import { elapsedMs, readInstant } from "@signpost/core/adapter";
 *
 * const failedAt = readInstant();
 * export const mayAskAgain = () => elapsedMs(failedAt) >= 5000;
 * ```
 */
export function elapsedMs(since: Instant, until: Instant = readInstant()): number {
  return Math.max(until.monotonic - since.monotonic, until.wall - since.wall);
}

/**
 * Milliseconds since `since` on the slower of the two clocks. Use it for limits that must not end too early, such as
 * remembering ids that may be used only once. The limit is reached when both clocks reach it.
 *
 * @example
 * ```ts
 * import { elapsedOnBothMs, readInstant } from "@signpost/core/adapter";
 *
 * const usedAt = readInstant();
 * export const mayForget = () => elapsedOnBothMs(usedAt) >= 60_000;
 * ```
 */
export function elapsedOnBothMs(since: Instant, until: Instant = readInstant()): number {
  return Math.min(until.monotonic - since.monotonic, until.wall - since.wall);
}

/** A smaller difference is rounding of the two clocks, or a gradual correction by a time server. Milliseconds. */
const LEAST_FREEZE_MS = 1000;

/**
 * Whether the process was frozen between two readings: the wall clock went on without the monotonic clock. No timer has fired
 * meanwhile, so connections that it should have closed or checked may be dead. Also true if the wall clock was set forward.
 *
 * @example
 * ```ts
 * import { readInstant, wasFrozen } from "@signpost/core/adapter";
 *
 * const usedAt = readInstant();
 * export const mayBeDead = () => wasFrozen(usedAt);
 * ```
 */
export function wasFrozen(since: Instant, until: Instant = readInstant()): boolean {
  return until.wall - since.wall - (until.monotonic - since.monotonic) >= LEAST_FREEZE_MS;
}
