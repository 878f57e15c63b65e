/**
 * Describes for a message what the caller gave: the value of a number or boolean, but only the type of anything else. A
 * string may be a secret in the wrong place.
 *
 * @example
 * ```ts
 * import { ConfigurationError } from "@signpost/core";
 * import { given } from "@signpost/core/adapter";
 *
 * export const refuse = (value: unknown): ConfigurationError =>
 *   new ConfigurationError("key", `expected a string, got ${given(value)}`);
 * ```
 */
export function given(value: unknown): string {
  if (value === null || value === undefined || typeof value === "boolean" || typeof value === "number") {
    return String(value);
  }
  if (Array.isArray(value)) return "an array";
  if (typeof value === "string") return value === "" ? "an empty string" : "a string";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
