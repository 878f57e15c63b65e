import { ConfigurationError } from "@signpost/core";
import { given, readText } from "@signpost/core/adapter";

// What core has no reader for.

/** A list of strings that are not empty. The list may be. */
export function readTexts(name: string, value: unknown): readonly string[] {
  if (!Array.isArray(value)) throw new ConfigurationError(name, `expected an array of strings, got ${given(value)}`);
  return value.map((text) => readText(name, text));
}

/** A string from a request, or `undefined`. It may be empty, and then equals nothing. */
export function readRequestText(name: string, value: string | undefined): string | undefined {
  if (value === undefined || typeof value === "string") return value;
  throw new ConfigurationError(name, `expected a string, or nothing, got ${given(value)}`);
}

/** A function that must be there. `expected` says which one. */
export function requireFunction<Callback>(name: string, value: Callback, expected: string): Callback {
  if (typeof value === "function") return value;
  throw new ConfigurationError(name, `expected ${expected}, got ${given(value)}`);
}

/** A signal, of whichever realm, or `undefined`. */
export function readSignal(name: string, value: AbortSignal | undefined): AbortSignal | undefined {
  if (value === undefined || isSignal(value)) return value;
  throw new ConfigurationError(name, `expected an AbortSignal, or nothing, got ${given(value)}`);
}

/** A signal that must be there. */
export function requireSignal(name: string, value: AbortSignal): AbortSignal {
  if (isSignal(value)) return value;
  throw new ConfigurationError(name, `expected an AbortSignal, got ${given(value)}`);
}

function isSignal(value: unknown): boolean {
  const { aborted, addEventListener } = Object(value) as Partial<AbortSignal>;
  return typeof aborted === "boolean" && typeof addEventListener === "function";
}
