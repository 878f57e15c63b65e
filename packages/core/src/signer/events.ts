import { channel } from "node:diagnostics_channel";
import type { SignerErrorCode } from "../errors.ts";

/**
 * Name of the `node:diagnostics_channel` on which each guarded call with valid arguments publishes one {@link SignEvent}. When
 * `signWith` finds that its signature does not verify, a second one follows, with the code `bad_signature`.
 */
export const SIGN_CHANNEL = "signpost:sign";

/** One signing call, published inside the caller's async context. Nothing of the payload is in it. */
export interface SignEvent {
  /** Of the signer that was called. */
  readonly uri: string;
  /** Key URI of the place that made the last attempt, where the signer has several (`failoverSigner`). */
  readonly place?: string;
  /** Backend calls made: 0 when the call never got a slot, and in the second event of a call. */
  readonly attempts: number;
  /** Milliseconds spent waiting for slots. */
  readonly queueMs: number;
  /** Milliseconds spent in backend calls. */
  readonly backendMs: number;
  /** Absent on success. */
  readonly code?: SignerErrorCode;
}

const signChannel = channel(SIGN_CHANNEL);

/** Free of cost without a subscriber: `event` is only called for one. */
export function publishSign(event: () => SignEvent): void {
  if (signChannel.hasSubscribers) signChannel.publish(event());
}
