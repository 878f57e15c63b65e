import { ConfigurationError, SignerError } from "@signpost/core";
import { ckrRule } from "../ckr.ts";
import { CommandError, toPublicError } from "../failure-error.ts";
import type { PinSource } from "../pin.ts";
import type { SessionState } from "../protocol.ts";
import {
  CKF_PROTECTED_AUTHENTICATION_PATH,
  CKF_USER_PIN_FINAL_TRY,
  CKF_USER_PIN_INITIALIZED,
  CKF_USER_PIN_LOCKED,
} from "../worker/constants.ts";

/**
 * Refuses a login that cannot succeed, or that would lock the token if it did not.
 *
 * @throws SignerError `pin_locked`, `pin_incorrect`, `access_denied`
 */
export function requireLoginPossible({ tokenFlags }: SessionState): void {
  const has = (flag: number): boolean => (tokenFlags & flag) !== 0;
  if (has(CKF_USER_PIN_LOCKED)) throw new SignerError("pin_locked", "the token's user PIN is locked");
  if (has(CKF_USER_PIN_FINAL_TRY)) {
    throw new SignerError(
      "pin_incorrect",
      "one more wrong PIN would lock the token (CKF_USER_PIN_FINAL_TRY): log in with another tool first",
    );
  }
  if (!has(CKF_USER_PIN_INITIALIZED)) throw new SignerError("pin_incorrect", "the token has no user PIN yet");
  if (has(CKF_PROTECTED_AUTHENTICATION_PATH)) {
    throw new SignerError("access_denied", "the token takes its PIN from a PIN pad, which pkcs11js cannot ask for");
  }
}

/** The PIN, or an error that says where it was to come from and nothing else. */
export async function readPin(source: PinSource): Promise<string> {
  try {
    return await source.read();
  } catch (cause) {
    if (cause instanceof ConfigurationError) throw cause;
    throw new SignerError("unavailable", "the PIN could not be had from its source", { cause });
  }
}

/** The error that is final for every signer of the token, or undefined when this is none. */
export function pinRefusal(error: unknown): SignerError | undefined {
  if (error instanceof SignerError) return isPinCode(error.code) ? error : undefined;
  if (!(error instanceof CommandError) || error.code === undefined || !isPinCode(ckrRule(error.code).signerCode))
    return undefined;
  const refusal = toPublicError(error);
  return refusal instanceof SignerError ? refusal : undefined;
}

function isPinCode(code: string): boolean {
  return code === "pin_incorrect" || code === "pin_locked";
}
