import { ConfigurationError } from "../errors.ts";
import { assertOptions, type OptionNames } from "../options/assert-options.ts";
import { given } from "../given.ts";
import { readClock } from "../options/read-clock.ts";
import { readMoment } from "./moment.ts";

/** Options of `rotationWindow`. */
export interface RotationWindowOptions {
  /** The start: a Date, or an RFC 3339 date and time with `Z` or an offset, so that every replica reads the same time. */
  readonly startedAt: Date | string;
  /** Length in hours, above 0 and up to 8784 (a year). Default 24. */
  readonly hours?: number | undefined;
  /** The clock, in milliseconds since 1970. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
}

const WINDOW_OPTIONS: OptionNames<RotationWindowOptions> = { startedAt: true, hours: true, now: true };

const HOUR_MS = 3_600_000;
const MAX_HOURS = 8784;

/**
 * A predicate for `jwksRotationActive`: true from `startedAt` until `hours` later, not including the end. It depends only
 * on the clock, so replicas need no shared state.
 *
 * @throws ConfigurationError for an invalid start, hours out of bounds, or a clock that does not return a number.
 * @example
 * ```ts
 * import { rotationWindow } from "@signpost/core";
 *
 * const jwksRotationActive = rotationWindow({ startedAt: "2026-03-01T08:00:00Z" });
 * ```
 */
export function rotationWindow(options: RotationWindowOptions): () => boolean {
  assertOptions("options", options, WINDOW_OPTIONS);
  const { hours = 24, now = Date.now } = options;
  const start = readMoment("startedAt", options.startedAt);
  if (typeof hours !== "number" || !(hours > 0 && hours <= MAX_HOURS)) {
    throw new ConfigurationError("hours", `expected a number above 0 and up to ${MAX_HOURS}, got ${given(hours)}`);
  }
  readClock(now);
  const end = start + hours * HOUR_MS;
  return () => {
    const time = now();
    return time >= start && time < end;
  };
}
