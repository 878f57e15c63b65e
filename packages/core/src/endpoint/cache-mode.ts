import { ConfigurationError } from "../errors.ts";
import { given } from "../given.ts";
import { isThenable, swallowRejection } from "../thenable.ts";
import { createFailureReport } from "./failure-report.ts";

/** `Cache-Control` outside a rotation: one hour, plus one hour of stale-while-revalidate (RFC 5861 section 3). */
export const LONG_CACHE = "public, max-age=3600, stale-while-revalidate=3600";
/** `Cache-Control` during a rotation: five minutes, and never stale. */
export const ROTATION_CACHE = "public, max-age=300, must-revalidate";

/**
 * Returns a function that gives the current `Cache-Control` value. Only `true` from the predicate means rotation. If the
 * predicate throws or returns a promise (which would always be truthy), that is reported once until it works again, and
 * the long value is used. Correct keys with a long lifetime are better than no keys.
 */
export function createCacheMode(
  predicate: (() => boolean) | null | undefined,
  onError: ((error: unknown) => void) | undefined,
): () => string {
  if (predicate === undefined || predicate === null) return () => LONG_CACHE;
  if (typeof predicate !== "function") {
    throw new ConfigurationError(
      "jwksRotationActive",
      `expected a function that returns a boolean, or undefined, got ${given(predicate)}`,
    );
  }
  const report = createFailureReport(onError);
  return () => {
    try {
      const answer: unknown = predicate();
      if (isThenable(answer)) {
        swallowRejection(answer);
        throw new ConfigurationError("jwksRotationActive", "must return a boolean synchronously, got a promise");
      }
      report.recovered();
      return answer === true ? ROTATION_CACHE : LONG_CACHE;
    } catch (error) {
      report.failed(error);
      return LONG_CACHE;
    }
  };
}
