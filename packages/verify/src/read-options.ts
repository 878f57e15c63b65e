import { ConfigurationError } from "@signpost/core";
import { given, readText } from "@signpost/core/adapter";

// Readers that core does not have.

/** A list of non-empty strings. The list may be empty. */
export function readTexts(name: string, value: unknown): readonly string[] {
  if (!Array.isArray(value)) throw new ConfigurationError(name, `expected an array of strings, got ${given(value)}`);
  // Reads holes too. `map` and `every` skip them.
  return Array.from(value, (text) => readText(name, text));
}

/** A string from a request, or `undefined`. It may be empty. An empty string never matches. */
export function readRequestText(name: string, value: string | undefined): string | undefined {
  if (value === undefined || typeof value === "string") return value;
  throw new ConfigurationError(name, `expected a string or undefined, got ${given(value)}`);
}

/** A required function. `expected` describes it. */
export function requireFunction<Callback>(name: string, value: Callback, expected: string): Callback {
  if (typeof value === "function") return value;
  throw new ConfigurationError(name, `expected ${expected}, got ${given(value)}`);
}

/** A signal, from any realm, or `undefined`. */
export function readSignal(name: string, value: AbortSignal | undefined): AbortSignal | undefined {
  if (value === undefined || isSignal(value)) return value;
  throw new ConfigurationError(name, `expected an AbortSignal or undefined, got ${given(value)}`);
}

/** A required signal. */
export function requireSignal(name: string, value: AbortSignal): void {
  if (isSignal(value)) return;
  throw new ConfigurationError(name, `expected an AbortSignal, got ${given(value)}`);
}

function isSignal(value: unknown): boolean {
  const { aborted, addEventListener } = Object(value) as Partial<AbortSignal>;
  return typeof aborted === "boolean" && typeof addEventListener === "function";
}
