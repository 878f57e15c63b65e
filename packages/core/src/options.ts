import { ConfigurationError } from "./errors.ts";

/** A whole number between the bounds, or a `ConfigurationError` that names the option and the bounds. */
export function wholeNumber(name: string, value: unknown, min: number, max: number): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max) return value;
  throw new ConfigurationError(name, `expected a whole number from ${min} to ${max}`);
}

/** Callers in JavaScript may pass anything: a list or a string holds no option, and would mean all defaults. */
export function requireObject(name: string, value: unknown): void {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return;
  throw new ConfigurationError(name, "expected an object");
}

// The longest delay that a Node timer takes; a longer one fires at once.
const MAX_TIMER_MS = 2_147_483_647;

/**
 * A bound in time that a Node timer can keep: a whole number of milliseconds from 1 to 2,147,483,647. For the options of
 * adapters; `name` is the option's.
 *
 * ```ts
 * import { wholeMilliseconds } from "@signpost/core";
 *
 * const openDeadlineMs = wholeMilliseconds("openDeadlineMs", 5000);
 * ```
 *
 * @throws ConfigurationError that names the option and its bounds.
 */
export function wholeMilliseconds(name: string, value: unknown): number {
  return wholeNumber(name, value, 1, MAX_TIMER_MS);
}
