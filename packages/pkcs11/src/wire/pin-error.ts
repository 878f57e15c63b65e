import { SignerError } from "@signpost/core";
import { oddEnds } from "../request/pin.ts";
import { describeToken, type TokenName } from "./token-name.ts";

/**
 * | reason | meaning |
 * |---|---|
 * | `refused` | the token has refused the PIN (CKR_PIN_INCORRECT), now or before, has refused too many, or its answers were lost |
 * | `compared` | it is not the PIN that the token accepted; the token has not seen it |
 * | `unconfirmed` | the same, but the PIN may have been changed: the source of the accepted one could not say |
 */
export type PinErrorReason = "refused" | "compared" | "unconfirmed";

/** A wrong PIN. Another PIN may be right, so this is not the end of the logins, as other errors about the PIN are. */
export class PinError extends SignerError {
  readonly reason: PinErrorReason;

  constructor(reason: PinErrorReason, message: string, options?: ErrorOptions) {
    super("pin_incorrect", message, options);
    this.reason = reason;
  }
}

/** The token has refused a PIN. */
export function isRefusedPin(error: unknown): error is PinError {
  return error instanceof PinError && error.reason === "refused";
}

/** What each of these is followed by: what an operator does about it. */
const MEND = "Give the right PIN there. If the token was mended instead, call forgetRefusedPins()";

/** The token has refused the PIN just now: `answer` is what C_Login said. */
export function refusedNow(token: TokenName, source: string, pin: string, answer: string, cause: unknown): PinError {
  const found = `refused the PIN from ${source} (${answer}).${oddEnds(pin)}`;
  const text = `${found} This process does not send that PIN to it again. ${MEND}`;
  return new PinError("refused", `${describeToken(token)} ${text}`, { cause });
}

/** The token has refused the PIN some time ago. */
export function refusedBefore(token: TokenName, source: string, pin: string): PinError {
  const found = `refused the PIN from ${source} before (CKR_PIN_INCORRECT).${oddEnds(pin)}`;
  const text = `${found} It was not sent again. ${MEND}`;
  return new PinError("refused", `${describeToken(token)} ${text}`);
}

/** The token has refused so many PINs that another wrong one might lock it. */
export function refusedTooMany(token: TokenName, source: string): PinError {
  const text =
    `refused two different PINs and accepted none since, so the one from ${source} was not sent: many tokens lock after ` +
    `three. Log in with another tool first, then call forgetRefusedPins() or start this process again`;
  return new PinError("refused", `${describeToken(token)} ${text}`);
}

/** Answers of the token were lost, so that another wrong PIN might lock it. */
export function answersLost(token: TokenName, source: string): PinError {
  const text =
    `was sent two PINs since it accepted one last, and what it said is unknown: the thread or the child process that sent them ` +
    `ended during the login, or still waits for it. So the PIN from ${source} was not sent again: many tokens lock after three ` +
    `wrong ones. If it is right, call ` +
    `forgetRefusedPins(), which allows it`;
  return new PinError("refused", `${describeToken(token)} ${text}`);
}

/** The token is logged in with another PIN. */
export function differsFromAccepted(token: TokenName, source: string): PinError {
  const text =
    `is logged in by another signer of this process, and the PIN from ${source} is not the one that it accepted. It was ` +
    `compared and not sent, so the token counts no wrong PIN. Give the right PIN there`;
  return new PinError("compared", `${describeToken(token)} ${text}`);
}

/** The token may be logged in with another PIN. */
export function notConfirmed(token: TokenName, source: string): PinError {
  const text =
    `is logged in, and the PIN from ${source} is not the one that it accepted last. It may have been changed since, but ` +
    `the source of the accepted one, in this thread or another, could not say in time whether it has the new one. It was ` +
    `compared and not sent, so the token counts no wrong PIN. If it is right, open the signer again`;
  return new PinError("unconfirmed", `${describeToken(token)} ${text}`);
}
