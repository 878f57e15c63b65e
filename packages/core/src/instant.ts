import { ConfigurationError } from "./errors.ts";

/**
 * A moment, read on two clocks. The monotonic one is never set, but it may stand still while a machine sleeps or a function is
 * frozen: on Linux it does not count suspension. The wall clock counts that time, but it may be set, forward or back.
 */
export interface Instant {
  /** Milliseconds from some beginning, on a clock that only goes forward. */
  readonly monotonic: number;
  /** Milliseconds since 1970. */
  readonly wall: number;
}

/** Two clocks, for callers that bring their own. */
export interface Clocks {
  /** Gives monotonic milliseconds. Default `performance.now`. */
  readonly clock?: (() => number) | undefined;
  /** Gives milliseconds since 1970. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/**
 * The present moment on both clocks.
 *
 * @throws ConfigurationError for a clock that gives no number, or none that is finite.
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

/** Nothing is before or after NaN: every limit would be off. */
function milliseconds(name: string, value: number): number {
  if (Number.isFinite(value)) return value;
  throw new ConfigurationError(name, "expected a function that gives milliseconds");
}

/**
 * Milliseconds since a moment, as the faster of the two clocks counts them. For all that must not last too long: trust in what was
 * fetched, throttles, the memory of failures. It ends when either clock says so.
 *
 * Never add up several of these: between two readings each clock may be ahead, and the sum would run faster than both.
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
 * Milliseconds since a moment, as the slower of the two clocks counts them. For all that must not end too early, such as the memory
 * of ids that may be used only once. It ends when both clocks say so.
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
