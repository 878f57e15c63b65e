import { describe, expect, test } from "vitest";
import { ConfigurationError, SignerError } from "@signpost/core";
import { ckrRule, type RecoveryAction } from "../src/cryptoki/ckr.ts";
import { CommandError, recoveryAction, toPublicError } from "../src/wire/command-error.ts";
import type { Failure } from "../src/wire/commands.ts";

const cryptoki = (code: number): CommandError => new CommandError({ kind: "cryptoki", call: "C_Sign", code });

describe("what brings a session back, and what a caller sees, by CKR code", () => {
  test.each<[name: string, code: number, action: RecoveryAction, signerCode: string, transient: boolean]>([
    ["CKR_HOST_MEMORY", 0x2, "login", "unavailable", true],
    ["CKR_SLOT_ID_INVALID", 0x3, "reinitialize", "unavailable", true],
    ["CKR_GENERAL_ERROR", 0x5, "repeated", "unavailable", true],
    ["CKR_FUNCTION_FAILED", 0x6, "repeated", "unavailable", true],
    ["CKR_ARGUMENTS_BAD", 0x7, "repeated", "unavailable", true],
    ["CKR_ACTION_PROHIBITED", 0x1b, "fatal", "access_denied", false],
    ["CKR_DATA_INVALID", 0x20, "fatal", "unsupported_key", false],
    ["CKR_DATA_LEN_RANGE", 0x21, "fatal", "unsupported_key", false],
    ["CKR_DEVICE_ERROR", 0x30, "reinitialize", "unavailable", true],
    ["CKR_DEVICE_MEMORY", 0x31, "reinitialize", "unavailable", true],
    ["CKR_DEVICE_REMOVED", 0x32, "reinitialize", "unavailable", true],
    ["CKR_FUNCTION_NOT_SUPPORTED", 0x54, "fatal", "unsupported_key", false],
    ["CKR_KEY_HANDLE_INVALID", 0x60, "login", "unavailable", true],
    ["CKR_KEY_SIZE_RANGE", 0x62, "fatal", "unsupported_key", false],
    ["CKR_KEY_TYPE_INCONSISTENT", 0x63, "fatal", "unsupported_key", false],
    ["CKR_KEY_FUNCTION_NOT_PERMITTED", 0x68, "fatal", "unsupported_key", false],
    ["CKR_MECHANISM_INVALID", 0x70, "fatal", "unsupported_key", false],
    ["CKR_MECHANISM_PARAM_INVALID", 0x71, "fatal", "unsupported_key", false],
    ["CKR_OBJECT_HANDLE_INVALID", 0x82, "login", "unavailable", true],
    ["CKR_OPERATION_ACTIVE", 0x90, "session", "unavailable", true],
    ["CKR_OPERATION_NOT_INITIALIZED", 0x91, "session", "unavailable", true],
    ["CKR_PIN_INCORRECT", 0xa0, "fatal", "pin_incorrect", false],
    ["CKR_PIN_INVALID", 0xa1, "fatal", "pin_incorrect", false],
    ["CKR_PIN_LEN_RANGE", 0xa2, "fatal", "pin_incorrect", false],
    ["CKR_PIN_EXPIRED", 0xa3, "fatal", "pin_locked", false],
    ["CKR_PIN_LOCKED", 0xa4, "fatal", "pin_locked", false],
    ["CKR_SESSION_CLOSED", 0xb0, "session", "unavailable", true],
    ["CKR_SESSION_COUNT", 0xb1, "session", "unavailable", true],
    ["CKR_SESSION_HANDLE_INVALID", 0xb3, "session", "unavailable", true],
    ["CKR_TOKEN_NOT_PRESENT", 0xe0, "reinitialize", "unavailable", true],
    ["CKR_TOKEN_NOT_RECOGNIZED", 0xe1, "fatal", "unsupported_key", false],
    ["CKR_USER_NOT_LOGGED_IN", 0x101, "login", "unavailable", true],
    ["CKR_USER_PIN_NOT_INITIALIZED", 0x102, "fatal", "pin_incorrect", false],
    ["CKR_USER_TYPE_INVALID", 0x103, "fatal", "access_denied", false],
    ["CKR_USER_ANOTHER_ALREADY_LOGGED_IN", 0x104, "fatal", "access_denied", false],
    ["CKR_BUFFER_TOO_SMALL", 0x150, "fatal", "unsupported_key", false],
    ["CKR_CRYPTOKI_NOT_INITIALIZED", 0x190, "reinitialize", "unavailable", true],
    ["CKR_FUNCTION_REJECTED", 0x200, "fatal", "access_denied", false],
    ["CKR 0x80000001", 0x80000001, "repeated", "unavailable", true],
  ])("%s (%i): %s, %s", (name, code, action, signerCode, transient) => {
    expect(ckrRule(code).name).toBe(name);
    expect(recoveryAction(cryptoki(code))).toBe(action);
    const error = toPublicError(cryptoki(code));
    expect(error).toBeInstanceOf(SignerError);
    expect(error).toMatchObject({ code: signerCode, transient, message: `C_Sign: ${name} (0x${code.toString(16)})` });
    expect(error.cause).toMatchObject({ code });
  });
});

describe("other failures of a command", () => {
  test.each<[failure: Failure, action: RecoveryAction, expected: object]>([
    [
      { kind: "key", code: "ambiguous_key", message: "two" },
      "fatal",
      { code: "ambiguous_key", transient: false, message: "two" },
    ],
    [{ kind: "signature", message: "63 bytes" }, "session", { code: "integrity", transient: false }],
    [{ kind: "internal", message: "TypeError" }, "repeated", { code: "unavailable", transient: true }],
    [
      { kind: "module", message: "x.so: too short" },
      "fatal",
      { argument: "module", message: expect.stringContaining("x.so: too short") as string },
    ],
    [
      { kind: "binding", message: "pkcs11js is not built" },
      "fatal",
      { argument: "pkcs11js", code: "missing_dependency" },
    ],
  ])("%j", (failure, action, expected) => {
    expect(recoveryAction(new CommandError(failure))).toBe(action);
    expect(toPublicError(new CommandError(failure))).toMatchObject(expected);
  });

  test("errors that are typed already stay what they are; others are unavailable", () => {
    const typed = new ConfigurationError("pin", "expected a string");
    expect(toPublicError(typed)).toBe(typed);
    const cause = new Error("the thread ended");
    expect(toPublicError(cause)).toMatchObject({ code: "unavailable", cause });
  });
});
