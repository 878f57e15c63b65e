import type { Instant } from "@signpost/core/adapter";
import type { KeySetError } from "../errors.ts";
import type { Throttle } from "./throttle.ts";

/** A request that failed, and how long that is answered from memory. */
export interface RememberedFailure {
  readonly error: KeySetError;
  readonly since: Instant;
  readonly forMs: number;
}

/**
 * What holds requests for one URL back. It may outlive the document: where that was dropped to make room, the next one for the
 * URL goes on with it.
 */
export interface FetchLimits {
  /** Of forced refetches. */
  readonly throttle: Throttle;
  failure: RememberedFailure | undefined;
  /** When the first request of a document was sent, unless it failed. Another document has to wait with its own. */
  firstSentAt: Instant | undefined;
}

export function createFetchLimits(throttle: Throttle): FetchLimits {
  return { throttle, failure: undefined, firstSentAt: undefined };
}
