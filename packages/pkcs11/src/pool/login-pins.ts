import type { PinSource } from "../request/pin.ts";
import type { PinOutcome, PinVerdict } from "../wire/pin-outcomes.ts";
import type { TokenName } from "../wire/token-name.ts";

/** A PIN that may be sent to a token once. Meanwhile no other part of this process sends one. */
export interface PinTry {
  readonly pin: string;
  /** Must be called with the outcome. Calls after the first do nothing. */
  done(outcome: PinOutcome): void;
}

/** The PINs for the tokens' logins, and what this process knows about them. */
export interface LoginPins {
  /**
   * Asks a source for a PIN to send to a token. Rejects with a PinError if the token has refused it before. Does so
   * without asking within five seconds of the last refusal.
   */
  take(source: PinSource, token: TokenName): Promise<PinTry>;
  /**
   * Compares the PIN of a source with the one that the token accepted, which came from `accepted` if that source is in this
   * thread. Nothing is sent. Rejects with a PinError when they differ.
   */
  compare(source: PinSource, token: TokenName, accepted: PinSource | undefined): Promise<PinVerdict>;
  /** From now on other threads may ask for the source of an accepted PIN. Returns a function that ends this. */
  offer(token: TokenName, accepted: () => PinSource | undefined): () => void;
  /** Changes when everything is forgotten, so that refused PINs may be tried again. */
  readonly forgotten: number;
}
