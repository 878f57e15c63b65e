import { SignerError } from "@signpost/core";
import {
  CKF_PROTECTED_AUTHENTICATION_PATH,
  CKF_USER_PIN_FINAL_TRY,
  CKF_USER_PIN_LOCKED,
  CKR_USER_PIN_NOT_INITIALIZED,
} from "../cryptoki/constants.ts";
import type { PinSource } from "../request/pin.ts";
import { CommandError, isPinIncorrect, isPinRefusal, toPublicError } from "../wire/command-error.ts";
import type { LoginState } from "../wire/commands.ts";
import { PinError, refusedNow } from "../wire/pin-error.ts";
import { describeToken, type TokenName } from "../wire/token-name.ts";
import type { TakenPin } from "./signer-pins.ts";

/**
 * Refuses a login that would lock the token if it failed, or that cannot reach the token. Other flags are hints that not
 * every module sets: only the token itself knows whether there is a PIN (CKF_USER_PIN_INITIALIZED).
 *
 * @throws SignerError `pin_locked`, `pin_incorrect`, `access_denied`
 */
export function requireLoginPossible({ tokenFlags }: LoginState): void {
  const has = (flag: number): boolean => (tokenFlags & flag) !== 0;
  if (has(CKF_USER_PIN_LOCKED)) throw new SignerError("pin_locked", "the token's user PIN is locked");
  if (has(CKF_USER_PIN_FINAL_TRY)) {
    throw new SignerError(
      "pin_incorrect",
      "one more wrong PIN would lock the token (CKF_USER_PIN_FINAL_TRY): log in with another tool first",
    );
  }
  if (has(CKF_PROTECTED_AUTHENTICATION_PATH)) {
    throw new SignerError("access_denied", "the token takes its PIN on a PIN pad, which pkcs11js does not support");
  }
}

/** The error of a failed login, with what an operator has to know if it is about the PIN. Other errors are unchanged. */
export function loginError(token: TokenName, error: unknown, { source, attempt }: TakenPin): unknown {
  if (!isPinIncorrect(error)) return namedError(token, error, source);
  return refusedNow(token, source.name, attempt.pin, (error as CommandError).message, error);
}

/** A PIN error from before anything was sent, with what an operator has to know. Other errors are unchanged. */
export function namedError(token: TokenName, error: unknown, source: PinSource): unknown {
  const told = error instanceof CommandError ? toPublicError(error) : error;
  if (told instanceof SignerError && told.code === "access_denied") {
    return new SignerError(told.code, `${describeToken(token)}: ${told.message}`, { cause: told.cause });
  }
  if (!isPinRefusal(told)) return error;
  const advice = "No PIN is tried until every signer of the token is closed and one is opened again";
  const message = `${describeToken(token)}: ${told.message} (PIN from ${source.name}). ${advice}`;
  return new SignerError(told.code, message, { cause: told.cause });
}

/**
 * Explains a login that the token did not ask for. `cause`: its error. `reason`: why it was made. If the
 * login says nothing about the PIN, the key stays not found.
 */
export function unaskedError(cause: SignerError, reason: string): SignerError {
  const why = `The token does not ask for a login. It was tried because of this: ${reason}`;
  if (cause instanceof PinError) return new PinError(cause.reason, `${cause.message}. ${why}`, { cause });
  if (isPinRefusal(cause) && !isWithoutPin(cause.cause)) {
    return new SignerError(cause.code, `${cause.message}. ${why}`, { cause });
  }
  return new SignerError("key_not_found", `${reason}. A login did not help: ${cause.message}`, { cause });
}

/** The token reports that it has no PIN to try. */
function isWithoutPin(error: unknown): boolean {
  return error instanceof CommandError && error.code === CKR_USER_PIN_NOT_INITIALIZED;
}
