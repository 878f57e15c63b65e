import { SignerError } from "@signpost/core";
import { oddEnds } from "../request/pin.ts";
import { describeToken, type TokenName } from "./token-name.ts";

/**
 * | reason | meaning |
 * |---|---|
 * | `refused` | the token refused the PIN (CKR_PIN_INCORRECT), now or before, or refused too many, or its answers were lost |
 * | `compared` | differs from the PIN that the token accepted; the token has not seen it |
 * | `unconfirmed` | the same, but the PIN may have been changed, and the source of the accepted one could not tell |
 */
export type PinErrorReason = "refused" | "compared" | "unconfirmed";

/** A wrong PIN. Another PIN may be right, so further logins stay possible, unlike after other PIN errors. */
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

/** What the operator should do, appended to the messages. */
const MEND = "Correct the PIN at its source. If you fixed the token instead, call forgetRefusedPins()";

/** The token has just refused the PIN. `answer` is the result of C_Login. */
export function refusedNow(token: TokenName, source: string, pin: string, answer: string, cause: unknown): PinError {
  const found = `refused the PIN from ${source} (${answer}).${oddEnds(pin)}`;
  const text = `${found} This process will not send that PIN again. ${MEND}`;
  return new PinError("refused", `${describeToken(token)} ${text}`, { cause });
}

/** The token refused the PIN some time ago. */
export function refusedBefore(token: TokenName, source: string, pin: string): PinError {
  const found = `refused the PIN from ${source} before (CKR_PIN_INCORRECT).${oddEnds(pin)}`;
  const text = `${found} It was not sent again. ${MEND}`;
  return new PinError("refused", `${describeToken(token)} ${text}`);
}

/** The token has refused so many PINs that another wrong one might lock it. */
export function refusedTooMany(token: TokenName, source: string): PinError {
  const text =
    `refused two different PINs and accepted none since, so the one from ${source} was not sent: many tokens lock after ` +
    `three. Log in with another tool first, then call forgetRefusedPins() or restart this process`;
  return new PinError("refused", `${describeToken(token)} ${text}`);
}

/** The token's answers were lost, so another wrong PIN might lock it. */
export function answersLost(token: TokenName, source: string): PinError {
  const text =
    `was sent two PINs since it last accepted one, and its answers are unknown: the thread or the child process that sent them ` +
    `ended during the login, or is still waiting for it. So the PIN from ${source} was not sent again: many tokens lock after three ` +
    `wrong ones. If it is right, call ` +
    `forgetRefusedPins(), which allows it`;
  return new PinError("refused", `${describeToken(token)} ${text}`);
}

/** The token is logged in with another PIN. */
export function differsFromAccepted(token: TokenName, source: string): PinError {
  const text =
    `is logged in by another signer of this process, and the PIN from ${source} is not the one that it accepted. It was ` +
    `compared and not sent, so the token counts no wrong PIN. Correct the PIN at its source`;
  return new PinError("compared", `${describeToken(token)} ${text}`);
}

/** The token may be logged in with another PIN. */
export function notConfirmed(token: TokenName, source: string): PinError {
  const text =
    `is logged in, and the PIN from ${source} is not the one that it last accepted. It may have been changed since, but ` +
    `the source of the accepted one, in this thread or another, could not confirm the new one in time. The PIN was ` +
    `compared and not sent, so the token counts no wrong PIN. If it is right, open the signer again`;
  return new PinError("unconfirmed", `${describeToken(token)} ${text}`);
}
