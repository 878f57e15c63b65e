import { ConfigurationError } from "./errors.ts";

/** A whole number between the bounds, or a `ConfigurationError` that names the option and the bounds. */
export function wholeNumber(name: string, value: unknown, min: number, max: number): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max) return value;
  throw new ConfigurationError(name, `expected a whole number from ${min} to ${max}`);
}
