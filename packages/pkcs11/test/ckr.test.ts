import { createRequire } from "node:module";
import { describe, expect, test } from "vitest";
import { ConfigurationError, SignerError } from "@signpost/core";
import type { CkrCode } from "../src/cryptoki/call.ts";
import { ckrRule, type RecoveryAction } from "../src/cryptoki/ckr.ts";
import { CommandError, recoveryAction, toPublicError } from "../src/wire/command-error.ts";
import type { Failure } from "../src/wire/commands.ts";

const cryptoki = (code: CkrCode): CommandError => new CommandError({ kind: "cryptoki", call: "C_Sign", code });

describe("a code above 2^53", () => {
  test.each([
    ["-1", -1n, "CKR about 0xffffffffffffffff (pkcs11js rounds codes above 2^53)"],
    ["a negative int", -(2n ** 31n) + 7n, "CKR about 0xffffffff80000000 (pkcs11js rounds codes above 2^53)"],
    ["the first above 2^53", 2n ** 53n + 1n, "CKR about 0x20000000000000 (pkcs11js rounds codes above 2^53)"],
  ])("that pkcs11js has rounded is not given as exact: %s", (_what, code, described) => {
    // As the class of its errors reads it.
    const error = cryptoki(Number(BigInt.asUintN(64, code).toString()));
    expect(error.message).toBe(`C_Sign: ${described}`);
    expect(error.code).toBeUndefined();
    expect(recoveryAction(error)).toBe("repeated");
  });

  test.each([0x7f000000000000a1n, 2 ** 63])("is in a cause that can be written as JSON: %s", (code) => {
    const error = toPublicError(cryptoki(code));
    expect(JSON.stringify({ ...error, cause: error.cause })).toBe(
      '{"name":"SignerError","code":"unavailable","transient":true,"cause":{"name":"Pkcs11Error"}}',
    );
  });
});

describe("what brings a session back, and what a caller sees, by CKR code", () => {
  test.each<[name: string, code: number, action: RecoveryAction, signerCode: string, transient: boolean]>([
    ["CKR_CANCEL", 0x1, "session", "unavailable", true],
    ["CKR_HOST_MEMORY", 0x2, "login", "unavailable", true],
    ["CKR_SLOT_ID_INVALID", 0x3, "reinitialize", "unavailable", true],
    ["CKR_GENERAL_ERROR", 0x5, "repeated", "unavailable", true],
    ["CKR_FUNCTION_FAILED", 0x6, "repeated", "unavailable", true],
    ["CKR_ARGUMENTS_BAD", 0x7, "repeated", "unavailable", true],
    ["CKR_NO_EVENT", 0x8, "repeated", "unavailable", true],
    ["CKR_ATTRIBUTE_SENSITIVE", 0x11, "fatal", "unsupported_key", false],
    ["CKR_ATTRIBUTE_TYPE_INVALID", 0x12, "fatal", "unsupported_key", false],
    ["CKR_ATTRIBUTE_VALUE_INVALID", 0x13, "fatal", "unsupported_key", false],
    ["CKR_ACTION_PROHIBITED", 0x1b, "fatal", "access_denied", false],
    ["CKR_DATA_INVALID", 0x20, "fatal", "unsupported_key", false],
    ["CKR_DATA_LEN_RANGE", 0x21, "fatal", "unsupported_key", false],
    ["CKR_DEVICE_ERROR", 0x30, "reinitialize", "unavailable", true],
    ["CKR_DEVICE_MEMORY", 0x31, "reinitialize", "unavailable", true],
    ["CKR_DEVICE_REMOVED", 0x32, "reinitialize", "unavailable", true],
    ["CKR_FUNCTION_CANCELED", 0x50, "session", "unavailable", true],
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
    ["CKR_SESSION_READ_WRITE_SO_EXISTS", 0xb8, "session", "unavailable", true],
    ["CKR_TEMPLATE_INCONSISTENT", 0xd1, "repeated", "unavailable", true],
    ["CKR_TOKEN_NOT_PRESENT", 0xe0, "reinitialize", "unavailable", true],
    ["CKR_TOKEN_NOT_RECOGNIZED", 0xe1, "fatal", "unsupported_key", false],
    ["CKR_TOKEN_WRITE_PROTECTED", 0xe2, "fatal", "access_denied", false],
    ["CKR_USER_ALREADY_LOGGED_IN", 0x100, "repeated", "unavailable", true],
    ["CKR_USER_NOT_LOGGED_IN", 0x101, "login", "unavailable", true],
    ["CKR_USER_PIN_NOT_INITIALIZED", 0x102, "fatal", "pin_incorrect", false],
    ["CKR_USER_TYPE_INVALID", 0x103, "fatal", "access_denied", false],
    ["CKR_USER_ANOTHER_ALREADY_LOGGED_IN", 0x104, "fatal", "access_denied", false],
    ["CKR_USER_TOO_MANY_TYPES", 0x105, "fatal", "access_denied", false],
    ["CKR_DOMAIN_PARAMS_INVALID", 0x130, "fatal", "unsupported_key", false],
    ["CKR_CURVE_NOT_SUPPORTED", 0x140, "fatal", "unsupported_key", false],
    ["CKR_BUFFER_TOO_SMALL", 0x150, "fatal", "unsupported_key", false],
    ["CKR_CRYPTOKI_NOT_INITIALIZED", 0x190, "reinitialize", "unavailable", true],
    ["CKR_FIPS_SELF_TEST_FAILED", 0x1b6, "reinitialize", "unavailable", true],
    ["CKR_PUBLIC_KEY_INVALID", 0x1b9, "fatal", "unsupported_key", false],
    ["CKR_FUNCTION_REJECTED", 0x200, "fatal", "access_denied", false],
    ["CKR_TOKEN_RESOURCE_EXCEEDED", 0x201, "repeated", "unavailable", true],
    ["CKR_KEY_EXHAUSTED", 0x203, "fatal", "access_denied", false],
    ["CKR_OPERATION_NOT_VALIDATED", 0x207, "fatal", "access_denied", false],
    ["CKR_TOKEN_NOT_INITIALIZED", 0x208, "fatal", "unsupported_key", false],
    ["CKR_PARAMETER_SET_NOT_SUPPORTED", 0x209, "fatal", "unsupported_key", false],
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

describe("a module that does not run here", () => {
  test.each([
    ["CKR_NEED_TO_CREATE_THREADS", 0x9],
    ["CKR_CANT_LOCK", 0xa],
    ["CKR_LIBRARY_LOAD_FAILED", 0x1b7],
  ])("%s from C_Initialize is a ConfigurationError about it, and nothing is retried", (name, code) => {
    const out = (call: string): CommandError => new CommandError({ kind: "cryptoki", call, code });
    expect(recoveryAction(out("C_Initialize"))).toBe("fatal");
    const error = toPublicError(out("C_Initialize"));
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error).toMatchObject({ argument: "module" });
    expect(error.message).toContain(`C_Initialize: ${name} (0x${code.toString(16)})`);
    expect(error.cause).toMatchObject({ code });
    // No other call may say so.
    expect(toPublicError(out("C_Sign"))).toMatchObject({ code: "integrity", transient: false });
  });
});

describe("the names of CKR codes", () => {
  test("are those of the header that pkcs11js is built with, all of them", () => {
    const constants = createRequire(import.meta.url)("pkcs11js") as Record<string, unknown>;
    const known = Object.entries(constants).filter(([name]) => /^CKR_(?!OK$|VENDOR_DEFINED$)/.test(name));
    expect(known.length).toBeGreaterThan(80);
    expect(known.map(([, code]) => ckrRule(Number(code)).name)).toEqual(known.map(([name]) => name));
  });

  test.each([
    ["CKR_AEAD_DECRYPT_FAILED", 0x42],
    ["CKR_TOKEN_RESOURCE_EXCEEDED", 0x201],
    ["CKR_OPERATION_CANCEL_FAILED", 0x202],
    ["CKR_KEY_EXHAUSTED", 0x203],
  ])("are those of PKCS#11 3.1 as well: %s", (name, code) => {
    expect(ckrRule(code).name).toBe(name);
  });

  test("are distinct: no code and no name appears twice", () => {
    const names = Array.from({ length: 0x400 }, (_, code) => ckrRule(code).name).filter((name) =>
      name.startsWith("CKR_"),
    );
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThan(95);
  });
});

describe("other failures of a command", () => {
  test.each<[failure: Failure, action: RecoveryAction, expected: object]>([
    [
      { kind: "key", code: "ambiguous_key", message: "two", withoutLogin: false },
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

  test("typed errors are unchanged; others are unavailable", () => {
    const typed = new ConfigurationError("pin", "expected a string");
    expect(toPublicError(typed)).toBe(typed);
    const cause = new Error("the thread ended");
    expect(toPublicError(cause)).toMatchObject({ code: "unavailable", cause });
  });
});
