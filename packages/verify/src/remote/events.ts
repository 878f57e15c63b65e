import { channel } from "node:diagnostics_channel";
import type { FetchOutcome, FetchReason } from "../http/cached-resource.ts";
import type { KeySetErrorCode } from "../errors.ts";

/** Name of the `node:diagnostics_channel` that remote key sets publish to. */
export const KEY_SET_CHANNEL = "signpost:keyset";

/** One message per fetch, and one per unknown `kid` that the throttle turned away. */
export interface KeySetEvent {
  /** Origin and path, never the query. */
  readonly url: string;
  readonly reason: FetchReason | "throttled";
  readonly outcome: FetchOutcome | "refused";
  readonly durationMs: number;
  readonly code: KeySetErrorCode | undefined;
  readonly status: number | undefined;
}

const events = channel(KEY_SET_CHANNEL);

/** Free of cost without a subscriber. */
export function publishKeySetEvent(make: () => KeySetEvent): void {
  if (events.hasSubscribers) events.publish(make());
}
