import type { PinSource } from "../request/pin.ts";
import type { PinOutcome, PinVerdict } from "../wire/pin-outcomes.ts";
import type { TokenName } from "../wire/token-name.ts";

/** A PIN that may be sent to a token once. No other part of this process sends one meanwhile. */
export interface PinTry {
  readonly pin: string;
  /** Has to be called, whatever became of it. Calls after the first do nothing. */
  done(outcome: PinOutcome): void;
}

/** The PINs for the logins of tokens, and what is known of them in this process. */
export interface LoginPins {
  /**
   * Asks a source for a PIN that is to be sent to a token. Rejects with a PinError where the token has refused it before, and
   * within five seconds of its last refusal without asking.
   */
  take(source: PinSource, token: TokenName): Promise<PinTry>;
  /**
   * Compares the PIN of a source with the one that the token accepted, of the source `accepted`, where it is of this
   * thread. Nothing is sent. Rejects with a PinError when they differ.
   */
  compare(source: PinSource, token: TokenName, accepted: PinSource | undefined): Promise<PinVerdict>;
  /** Other threads may ask for the source of an accepted PIN from now on. Returns how to end that. */
  offer(token: TokenName, accepted: () => PinSource | undefined): () => void;
  /** Changes when everything was forgotten: what was refused may be tried again. */
  readonly forgotten: number;
}
