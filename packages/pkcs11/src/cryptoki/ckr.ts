import type { SignerErrorCode } from "@signpost/core";
import type { CkrCode } from "./call.ts";

/**
 * What brings a session back after a CKR code.
 *
 * | action | what is done |
 * |---|---|
 * | `session` | open a new session; the failed one is never used again |
 * | `login` | open a new session, log in if needed, find the key again; `reinitialize` if a session needs it over and over |
 * | `reinitialize` | C_Finalize and C_Initialize, then all of the above |
 * | `repeated` | `session` at first, `reinitialize` if it happens again before a success |
 * | `fatal` | nothing: another try cannot help |
 */
export type RecoveryAction = "session" | "login" | "reinitialize" | "repeated" | "fatal";

/** What a CKR code means here. */
export interface CkrRule {
  readonly name: string;
  readonly action: RecoveryAction;
  /** The code that a caller sees. `unavailable` for everything that recovery may cure. */
  readonly signerCode: SignerErrorCode;
}

type Row = readonly [code: number, name: string, action: RecoveryAction, signerCode?: SignerErrorCode];

const ROWS: readonly Row[] = [
  [0x01, "CKR_CANCEL", "session"],
  [0x02, "CKR_HOST_MEMORY", "login"], // NSS after a logout, or once its password was changed
  [0x03, "CKR_SLOT_ID_INVALID", "reinitialize"],
  [0x05, "CKR_GENERAL_ERROR", "repeated"],
  [0x06, "CKR_FUNCTION_FAILED", "repeated"],
  [0x07, "CKR_ARGUMENTS_BAD", "repeated"],
  // C_Initialize alone may return this one and the next, which is a ConfigurationError then.
  [0x09, "CKR_NEED_TO_CREATE_THREADS", "fatal", "integrity"],
  [0x0a, "CKR_CANT_LOCK", "fatal", "integrity"],
  // Optional objects and attributes may be missing. These codes remain when the key's own type cannot be read.
  [0x11, "CKR_ATTRIBUTE_SENSITIVE", "fatal", "unsupported_key"],
  [0x12, "CKR_ATTRIBUTE_TYPE_INVALID", "fatal", "unsupported_key"],
  [0x13, "CKR_ATTRIBUTE_VALUE_INVALID", "fatal", "unsupported_key"],
  [0x1b, "CKR_ACTION_PROHIBITED", "fatal", "access_denied"],
  [0x20, "CKR_DATA_INVALID", "fatal", "unsupported_key"],
  [0x21, "CKR_DATA_LEN_RANGE", "fatal", "unsupported_key"],
  [0x30, "CKR_DEVICE_ERROR", "reinitialize"],
  [0x31, "CKR_DEVICE_MEMORY", "reinitialize"],
  [0x32, "CKR_DEVICE_REMOVED", "reinitialize"],
  [0x50, "CKR_FUNCTION_CANCELED", "session"],
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
  // The security officer is logged in: no read-only session until that has ended.
  [0xb8, "CKR_SESSION_READ_WRITE_SO_EXISTS", "session"],
  [0xe0, "CKR_TOKEN_NOT_PRESENT", "reinitialize"],
  [0xe1, "CKR_TOKEN_NOT_RECOGNIZED", "fatal", "unsupported_key"],
  [0xe2, "CKR_TOKEN_WRITE_PROTECTED", "fatal", "access_denied"],
  [0x101, "CKR_USER_NOT_LOGGED_IN", "login"],
  [0x102, "CKR_USER_PIN_NOT_INITIALIZED", "fatal", "pin_incorrect"],
  [0x103, "CKR_USER_TYPE_INVALID", "fatal", "access_denied"],
  [0x104, "CKR_USER_ANOTHER_ALREADY_LOGGED_IN", "fatal", "access_denied"],
  [0x105, "CKR_USER_TOO_MANY_TYPES", "fatal", "access_denied"],
  [0x130, "CKR_DOMAIN_PARAMS_INVALID", "fatal", "unsupported_key"],
  [0x140, "CKR_CURVE_NOT_SUPPORTED", "fatal", "unsupported_key"],
  [0x150, "CKR_BUFFER_TOO_SMALL", "fatal", "unsupported_key"],
  [0x190, "CKR_CRYPTOKI_NOT_INITIALIZED", "reinitialize"],
  [0x1b6, "CKR_FIPS_SELF_TEST_FAILED", "reinitialize"], // C_Initialize makes it run again
  [0x1b7, "CKR_LIBRARY_LOAD_FAILED", "fatal", "integrity"],
  [0x1b9, "CKR_PUBLIC_KEY_INVALID", "fatal", "unsupported_key"],
  [0x200, "CKR_FUNCTION_REJECTED", "fatal", "access_denied"],
  // The key has made as many signatures as it may.
  [0x203, "CKR_KEY_EXHAUSTED", "fatal", "access_denied"],
  [0x207, "CKR_OPERATION_NOT_VALIDATED", "fatal", "access_denied"],
  [0x208, "CKR_TOKEN_NOT_INITIALIZED", "fatal", "unsupported_key"],
  [0x209, "CKR_PARAMETER_SET_NOT_SUPPORTED", "fatal", "unsupported_key"],
];

/**
 * The other codes of PKCS#11 3.1 and 3.2. They concern calls that Signpost never makes, or do not say what would
 * help. A module that returns one anyway is treated as if the code were unknown.
 */
const NAMES: readonly (readonly [code: number, name: string])[] = [
  [0x08, "CKR_NO_EVENT"],
  [0x10, "CKR_ATTRIBUTE_READ_ONLY"],
  [0x40, "CKR_ENCRYPTED_DATA_INVALID"],
  [0x41, "CKR_ENCRYPTED_DATA_LEN_RANGE"],
  [0x42, "CKR_AEAD_DECRYPT_FAILED"],
  [0x51, "CKR_FUNCTION_NOT_PARALLEL"],
  [0x64, "CKR_KEY_NOT_NEEDED"],
  [0x65, "CKR_KEY_CHANGED"],
  [0x66, "CKR_KEY_NEEDED"],
  [0x67, "CKR_KEY_INDIGESTIBLE"],
  [0x69, "CKR_KEY_NOT_WRAPPABLE"],
  [0x6a, "CKR_KEY_UNEXTRACTABLE"],
  [0xb4, "CKR_SESSION_PARALLEL_NOT_SUPPORTED"],
  [0xb5, "CKR_SESSION_READ_ONLY"],
  [0xb6, "CKR_SESSION_EXISTS"],
  [0xb7, "CKR_SESSION_READ_ONLY_EXISTS"],
  [0xc0, "CKR_SIGNATURE_INVALID"],
  [0xc1, "CKR_SIGNATURE_LEN_RANGE"],
  [0xd0, "CKR_TEMPLATE_INCOMPLETE"],
  [0xd1, "CKR_TEMPLATE_INCONSISTENT"],
  [0xf0, "CKR_UNWRAPPING_KEY_HANDLE_INVALID"],
  [0xf1, "CKR_UNWRAPPING_KEY_SIZE_RANGE"],
  [0xf2, "CKR_UNWRAPPING_KEY_TYPE_INCONSISTENT"],
  [0x100, "CKR_USER_ALREADY_LOGGED_IN"],
  [0x110, "CKR_WRAPPED_KEY_INVALID"],
  [0x112, "CKR_WRAPPED_KEY_LEN_RANGE"],
  [0x113, "CKR_WRAPPING_KEY_HANDLE_INVALID"],
  [0x114, "CKR_WRAPPING_KEY_SIZE_RANGE"],
  [0x115, "CKR_WRAPPING_KEY_TYPE_INCONSISTENT"],
  [0x120, "CKR_RANDOM_SEED_NOT_SUPPORTED"],
  [0x121, "CKR_RANDOM_NO_RNG"],
  [0x160, "CKR_SAVED_STATE_INVALID"],
  [0x170, "CKR_INFORMATION_SENSITIVE"],
  [0x180, "CKR_STATE_UNSAVEABLE"],
  [0x191, "CKR_CRYPTOKI_ALREADY_INITIALIZED"],
  [0x1a0, "CKR_MUTEX_BAD"],
  [0x1a1, "CKR_MUTEX_NOT_LOCKED"],
  [0x1b0, "CKR_NEW_PIN_MODE"],
  [0x1b1, "CKR_NEXT_OTP"],
  [0x1b5, "CKR_EXCEEDED_MAX_ITERATIONS"],
  [0x1b8, "CKR_PIN_TOO_WEAK"],
  [0x201, "CKR_TOKEN_RESOURCE_EXCEEDED"],
  [0x202, "CKR_OPERATION_CANCEL_FAILED"],
  [0x204, "CKR_PENDING"],
  [0x205, "CKR_SESSION_ASYNC_NOT_SUPPORTED"],
  [0x206, "CKR_SEED_RANDOM_REQUIRED"],
];

const UNKNOWN = { action: "repeated", signerCode: "unavailable" } as const;

const RULES: ReadonlyMap<CkrCode, CkrRule> = new Map<CkrCode, CkrRule>([
  ...NAMES.map(([code, name]) => [code, { name, ...UNKNOWN }] as const),
  ...ROWS.map(([code, name, action, signerCode = "unavailable"]) => [code, { name, action, signerCode }] as const),
]);

/** The rule for a CKR code. An unknown code, which may be a vendor's, may pass or may need a fresh start. */
export function ckrRule(code: CkrCode): CkrRule {
  return RULES.get(code) ?? { name: `CKR 0x${code.toString(16)}`, ...UNKNOWN };
}

/** Whether it is a number that pkcs11js has rounded, so that the code itself is not known. */
export function isRounded(code: CkrCode): boolean {
  return typeof code === "number" && !Number.isSafeInteger(code);
}

/** A CKR code as text: `CKR_DEVICE_ERROR (0x30)`. */
export function describeCode(code: CkrCode): string {
  if (isRounded(code)) {
    const nearest = code < 2 ** 64 ? code.toString(16) : "ffffffffffffffff";
    return `CKR about 0x${nearest} (pkcs11js rounds codes above 2^53)`;
  }
  return `${ckrRule(code).name} (0x${code.toString(16)})`;
}
