import { channel } from "node:diagnostics_channel";
import type { FetchOutcome, FetchReason } from "../http/cached-resource.ts";
import type { KeySetErrorCode } from "../errors.ts";

/** Name of the `node:diagnostics_channel` that remote key sets publish to. */
export const KEY_SET_CHANNEL = "signpost:keyset";

/** One message for each fetch, and one for each request that was throttled. */
export interface KeySetEvent {
  /** Origin and path, never the query. */
  readonly url: string;
  /** Why a request was sent, or `throttled` if none was. */
  readonly reason: FetchReason | "throttled";
  /** The result of the fetch. `refused` if no request was sent. */
  readonly outcome: FetchOutcome | "refused";
  /** Milliseconds from the request to the end of the answer. 0 if no request was sent. */
  readonly durationMs: number;
  /** Code of the error, if it failed. */
  readonly code: KeySetErrorCode | undefined;
  /** Status of a refused answer. */
  readonly status: number | undefined;
}

const events = channel(KEY_SET_CHANNEL);

/** Costs nothing without a subscriber. */
export function publishKeySetEvent(make: () => KeySetEvent): void {
  if (events.hasSubscribers) events.publish(make());
}
