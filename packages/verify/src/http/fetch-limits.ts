import type { Instant } from "@signpost/core/adapter";
import type { KeySetError } from "../errors.ts";
import type { Throttle } from "./throttle.ts";

/** A failed request, and how long its error is returned from memory. */
export interface RememberedFailure {
  readonly error: KeySetError;
  readonly since: Instant;
  readonly forMs: number;
}

/**
 * Limits requests for one URL. The limits outlive a document that is dropped to make room, and the next document of the URL
 * continues with them.
 */
export interface FetchLimits {
  /** For forced refetches. */
  readonly throttle: Throttle;
  failure: RememberedFailure | undefined;
  /** When the first request of a document was sent, unless it failed. The next document must wait before its first request. */
  firstSentAt: Instant | undefined;
}

export function createFetchLimits(throttle: Throttle): FetchLimits {
  return { throttle, failure: undefined, firstSentAt: undefined };
}
