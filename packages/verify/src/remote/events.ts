import { channel } from "node:diagnostics_channel";
import type { FetchOutcome, FetchReason } from "../http/cached-resource.ts";
import type { KeySetErrorCode } from "../errors.ts";

/** Name of the `node:diagnostics_channel` that remote key sets publish to. */
export const KEY_SET_CHANNEL = "signpost:keyset";

/** One message per fetch, and one per request that was held back. */
export interface KeySetEvent {
  /** Origin and path, never the query. */
  readonly url: string;
  /** Why a request was sent, or `throttled` where none was. */
  readonly reason: FetchReason | "throttled";
  /** What came of it. `refused` where none was sent. */
  readonly outcome: FetchOutcome | "refused";
  /** Milliseconds from the request to the answer that was read; 0 where none was sent. */
  readonly durationMs: number;
  /** Code of the error, where it failed. */
  readonly code: KeySetErrorCode | undefined;
  /** Status of the answer that was refused, where there was one. */
  readonly status: number | undefined;
}

const events = channel(KEY_SET_CHANNEL);

/** Free of cost without a subscriber. */
export function publishKeySetEvent(make: () => KeySetEvent): void {
  if (events.hasSubscribers) events.publish(make());
}
