import { channel } from "node:diagnostics_channel";
import type { SignerErrorCode } from "../errors.ts";

/**
 * Name of the `node:diagnostics_channel` on which each guarded call with valid arguments publishes one {@link SignEvent}. If
 * `signWith` finds that the signature does not verify, it publishes a second event, with the code `bad_signature`.
 */
export const SIGN_CHANNEL = "signpost:sign";

/** One signing call, published in the caller's async context. Contains nothing of the payload. */
export interface SignEvent {
  /** Key URI of the signer. */
  readonly uri: string;
  /** Key URI of the place that made the last attempt, if the signer has several places (`failoverSigner`). */
  readonly place?: string;
  /** Number of attempts, without the hedge. 0 if the call never got a slot, and in the second event of a call. */
  readonly attempts: number;
  /** Milliseconds spent waiting for slots. */
  readonly queueMs: number;
  /** Milliseconds spent in backend calls. */
  readonly backendMs: number;
  /** Number of hedges: backend calls besides the attempts. Absent if there was none. */
  readonly hedges?: number;
  /** Whether the hedge gave the signature. Absent if there was no hedge. */
  readonly hedgeWon?: boolean;
  /** Error code. Absent on success. */
  readonly code?: SignerErrorCode;
}

const signChannel = channel(SIGN_CHANNEL);

/** Costs nothing without a subscriber: `event` is only called if there is one. */
export function publishSign(event: () => SignEvent): void {
  if (signChannel.hasSubscribers) signChannel.publish(event());
}
