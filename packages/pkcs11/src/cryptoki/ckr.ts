import type { SignerErrorCode } from "@signpost/core";

/**
 * What brings a session back after a CKR code.
 *
 * | action | what is done |
 * |---|---|
 * | `session` | open a new session; the failed one is never used again |
 * | `login` | open a new session, log in where that is needed, find the key again |
 * | `reinitialize` | C_Finalize and C_Initialize, then all of the above |
 * | `repeated` | `session` at first, `reinitialize` when it comes again without a success between |
 * | `fatal` | nothing: trying again cannot help |
 */
export type RecoveryAction = "session" | "login" | "reinitialize" | "repeated" | "fatal";

/** What a CKR code means here. */
export interface CkrRule {
  readonly name: string;
  readonly action: RecoveryAction;
  /** What a caller sees. Everything that recovery may cure is `unavailable`. */
  readonly signerCode: SignerErrorCode;
}

type Row = readonly [code: number, name: string, action: RecoveryAction, signerCode?: SignerErrorCode];

const ROWS: readonly Row[] = [
  [0x02, "CKR_HOST_MEMORY", "login"], // NSS after a logout
  [0x03, "CKR_SLOT_ID_INVALID", "reinitialize"],
  [0x05, "CKR_GENERAL_ERROR", "repeated"],
  [0x06, "CKR_FUNCTION_FAILED", "repeated"],
  [0x07, "CKR_ARGUMENTS_BAD", "repeated"],
  [0x1b, "CKR_ACTION_PROHIBITED", "fatal", "access_denied"],
  [0x20, "CKR_DATA_INVALID", "fatal", "unsupported_key"],
  [0x21, "CKR_DATA_LEN_RANGE", "fatal", "unsupported_key"],
  [0x30, "CKR_DEVICE_ERROR", "reinitialize"],
  [0x31, "CKR_DEVICE_MEMORY", "reinitialize"],
  [0x32, "CKR_DEVICE_REMOVED", "reinitialize"],
  [0x54, "CKR_FUNCTION_NOT_SUPPORTED", "fatal", "unsupported_key"],
  [0x60, "CKR_KEY_HANDLE_INVALID", "login"],
  [0x62, "CKR_KEY_SIZE_RANGE", "fatal", "unsupported_key"],
  [0x63, "CKR_KEY_TYPE_INCONSISTENT", "fatal", "unsupported_key"],
  [0x68, "CKR_KEY_FUNCTION_NOT_PERMITTED", "fatal", "unsupported_key"],
  [0x70, "CKR_MECHANISM_INVALID", "fatal", "unsupported_key"],
  [0x71, "CKR_MECHANISM_PARAM_INVALID", "fatal", "unsupported_key"],
  [0x82, "CKR_OBJECT_HANDLE_INVALID", "login"],
  [0x90, "CKR_OPERATION_ACTIVE", "session"],
  [0x91, "CKR_OPERATION_NOT_INITIALIZED", "session"],
  [0xa0, "CKR_PIN_INCORRECT", "fatal", "pin_incorrect"],
  [0xa1, "CKR_PIN_INVALID", "fatal", "pin_incorrect"],
  [0xa2, "CKR_PIN_LEN_RANGE", "fatal", "pin_incorrect"],
  [0xa3, "CKR_PIN_EXPIRED", "fatal", "pin_locked"],
  [0xa4, "CKR_PIN_LOCKED", "fatal", "pin_locked"],
  [0xb0, "CKR_SESSION_CLOSED", "session"],
  [0xb1, "CKR_SESSION_COUNT", "session"],
  [0xb3, "CKR_SESSION_HANDLE_INVALID", "session"],
  [0xe0, "CKR_TOKEN_NOT_PRESENT", "reinitialize"],
  [0xe1, "CKR_TOKEN_NOT_RECOGNIZED", "fatal", "unsupported_key"],
  [0x101, "CKR_USER_NOT_LOGGED_IN", "login"],
  [0x102, "CKR_USER_PIN_NOT_INITIALIZED", "fatal", "pin_incorrect"],
  [0x103, "CKR_USER_TYPE_INVALID", "fatal", "access_denied"],
  [0x104, "CKR_USER_ANOTHER_ALREADY_LOGGED_IN", "fatal", "access_denied"],
  [0x150, "CKR_BUFFER_TOO_SMALL", "fatal", "unsupported_key"],
  [0x190, "CKR_CRYPTOKI_NOT_INITIALIZED", "reinitialize"],
  [0x200, "CKR_FUNCTION_REJECTED", "fatal", "access_denied"],
];

const RULES: ReadonlyMap<number, CkrRule> = new Map(
  ROWS.map(([code, name, action, signerCode = "unavailable"]) => [code, { name, action, signerCode }]),
);

/** The rule for a CKR code. Codes that are not in the table, vendors' own included, may pass or may need a fresh start. */
export function ckrRule(code: number): CkrRule {
  return RULES.get(code) ?? { name: `CKR 0x${code.toString(16)}`, action: "repeated", signerCode: "unavailable" };
}
