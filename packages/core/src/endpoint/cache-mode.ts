import { ConfigurationError } from "../errors.ts";
import { isThenable, swallowRejection } from "../thenable.ts";
import { createFailureReport } from "./failure-report.ts";

/** `Cache-Control` outside of a rotation: one hour, and one hour of stale-while-revalidate (RFC 5861 section 3). */
export const LONG_CACHE = "public, max-age=3600, stale-while-revalidate=3600";
/** `Cache-Control` while keys change: five minutes, and never stale. */
export const ROTATION_CACHE = "public, max-age=300, must-revalidate";

/**
 * The `Cache-Control` value of this moment. Only `true` from the predicate means rotation. When it throws or returns
 * a promise (which is truthy for ever), that is reported once until it answers again, and the mode is long: a failing
 * predicate is better met with correct keys and a long lifetime than with no keys.
 */
export function createCacheMode(
  predicate: (() => boolean) | null | undefined,
  onError: ((error: unknown) => void) | undefined,
): () => string {
  if (predicate === undefined || predicate === null) return () => LONG_CACHE;
  if (typeof predicate !== "function") {
    throw new ConfigurationError("jwksRotationActive", "expected a function that returns a boolean, or nothing");
  }
  const report = createFailureReport(onError);
  return () => {
    try {
      const answer: unknown = predicate();
      if (isThenable(answer)) {
        swallowRejection(answer);
        throw new ConfigurationError("jwksRotationActive", "expected a boolean at once, got a promise");
      }
      report.recovered();
      return answer === true ? ROTATION_CACHE : LONG_CACHE;
    } catch (error) {
      report.failed(error);
      return LONG_CACHE;
    }
  };
}
