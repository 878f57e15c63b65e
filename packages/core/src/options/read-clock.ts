import { ConfigurationError } from "../errors.ts";
import { given } from "../given.ts";

/**
 * The time on the clock of the option `now`. Nothing is before or after NaN or a promise, so a rotation would never begin.
 *
 * @throws ConfigurationError for anything but a function that returns a finite number.
 */
export function readClock(now: unknown): number {
  const time: unknown = typeof now === "function" ? now() : undefined;
  if (typeof time === "number" && Number.isFinite(time)) return time;
  throw new ConfigurationError(
    "now",
    `expected a function that returns milliseconds since 1970, got ${typeof now === "function" ? `the result ${given(time)}` : given(now)}`,
  );
}
