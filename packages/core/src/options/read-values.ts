import { ConfigurationError } from "../errors.ts";
import { given } from "../given.ts";

/**
 * A whole number between the bounds, inclusive.
 *
 * @throws ConfigurationError that names the option, its bounds and what was given.
 * @example
 * ```ts
 * import { readWholeNumber } from "@signpost/core/adapter";
 *
 * const sessions = readWholeNumber("sessions", 4, 1, 64);
 * ```
 */
export function readWholeNumber(name: string, value: unknown, min: number, max: number): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max) return value;
  throw new ConfigurationError(name, `expected a whole number from ${min} to ${max}, got ${given(value)}`);
}

/**
 * A number between the bounds, inclusive. Fractions are allowed. NaN and infinity are refused.
 *
 * @throws ConfigurationError that names the option, its bounds and what was given.
 * @example
 * ```ts
 * import { readNumber } from "@signpost/core/adapter";
 *
 * const hours = readNumber("hours", 1.5, 0, 24);
 * ```
 */
export function readNumber(name: string, value: unknown, min: number, max: number): number {
  if (typeof value === "number" && value >= min && value <= max) return value;
  throw new ConfigurationError(name, `expected a number from ${min} to ${max}, got ${given(value)}`);
}

/** The longest delay that a Node timer accepts. A timer with a longer delay fires immediately. */
const MAX_TIMER_MS = 2_147_483_647;

/**
 * A duration that a Node timer accepts: whole milliseconds from 1 to 2,147,483,647, or to `max`.
 *
 * @throws ConfigurationError that names the option, its bounds and what was given.
 * @example
 * ```ts
 * import { readMilliseconds } from "@signpost/core/adapter";
 *
 * const openDeadlineMs = readMilliseconds("openDeadlineMs", 5000);
 * ```
 */
export function readMilliseconds(name: string, value: unknown, max: number = MAX_TIMER_MS): number {
  return readWholeNumber(name, value, 1, max);
}

/**
 * A switch: `true`, `false`, or `undefined` for `fallback`. Anything else is refused, since `"false"` is truthy and would
 * turn it on.
 *
 * @throws ConfigurationError that names the option.
 * @example
 * ```ts
 * import { readFlag } from "@signpost/core/adapter";
 *
 * const cors = readFlag("cors", undefined); // false
 * ```
 */
export function readFlag(name: string, value: unknown, fallback: boolean = false): boolean {
  if (value === undefined) return fallback;
  if (typeof value === "boolean") return value;
  throw new ConfigurationError(name, `expected true or false, got ${given(value)}`);
}

/**
 * A non-empty string.
 *
 * @throws ConfigurationError that names the option but never shows its value.
 * @example
 * ```ts
 * import { readText } from "@signpost/core/adapter";
 *
 * const audience = readText("audience", "https://api.example");
 * ```
 */
export function readText(name: string, value: unknown): string {
  if (typeof value === "string" && value !== "") return value;
  throw new ConfigurationError(name, `expected a non-empty string, got ${given(value)}`);
}

/**
 * One of the strings in `choices`.
 *
 * @throws ConfigurationError that names the option and the choices.
 * @example
 * ```ts
 * import { readChoice } from "@signpost/core/adapter";
 *
 * const transport = readChoice("transport", "rest", ["grpc", "rest"]);
 * ```
 */
export function readChoice<Choice extends string>(name: string, value: unknown, choices: readonly Choice[]): Choice {
  const found = choices.find((choice) => choice === value);
  if (found !== undefined) return found;
  const words = choices.map((choice) => JSON.stringify(choice)).join(" or ");
  throw new ConfigurationError(name, `expected ${words}, got ${given(value)}`);
}

/**
 * A function, or `undefined`. Its parameters and result are not checked.
 *
 * @throws ConfigurationError that names the option.
 * @example
 * ```ts
 * import { readCallback } from "@signpost/core/adapter";
 *
 * declare const options: { readonly onError?: (error: unknown) => void };
 * const onError = readCallback("onError", options.onError);
 * ```
 */
export function readCallback<Callback>(name: string, value: Callback): Callback {
  if (value === undefined || typeof value === "function") return value;
  throw new ConfigurationError(name, `expected a function or undefined, got ${given(value)}`);
}

/**
 * An AbortSignal, or `undefined`. Recognized by its methods, since a signal may come from another realm.
 *
 * @throws ConfigurationError that names the option.
 * @example
 * ```ts
 * import { readSignal } from "@signpost/core/adapter";
 *
 * const signal = readSignal("signal", AbortSignal.timeout(1000));
 * ```
 */
export function readSignal(name: string, value: AbortSignal | undefined): AbortSignal | undefined {
  if (value === undefined || typeof value?.addEventListener === "function") return value;
  throw new ConfigurationError(name, `expected an AbortSignal or undefined, got ${given(value)}`);
}
