import { expect, test } from "vitest";
import { codeFrom, cryptoki } from "../src/cryptoki/call.ts";
import { describeCode } from "../src/cryptoki/ckr.ts";

function failing(error: unknown): () => never {
  return () => {
    throw error;
  };
}

test.each([
  ["a code of the standard", "CKR_SESSION_HANDLE_INVALID:179", "CKR_SESSION_HANDLE_INVALID (0xb3)"],
  ["a code of a vendor", "CKR_VENDOR_DEFINED:2147483649", "CKR 0x80000001 (0x80000001)"],
  ["a code of a vendor as a negative int", "CKR_VENDOR_DEFINED:18446744071562067969", "CKR 0x80000001 (0x80000001)"],
  ["the lowest negative int", "CKR_VENDOR_DEFINED:18446744071562067968", "CKR 0x80000000 (0x80000000)"],
  ["-1", "CKR_VENDOR_DEFINED:18446744073709551615", "CKR 0xffffffff (0xffffffff)"],
  [
    "a number above 32 bits, which is not the code of its lower bits",
    "CKR_VENDOR_DEFINED:4294967456",
    "CKR 0x1000000a0 (0x1000000a0)",
  ],
  [
    "a number that is not a safe integer",
    "CKR_VENDOR_DEFINED:9151314442816848033",
    "CKR 0x7f000000000000a1 (0x7f000000000000a1)",
  ],
])("%s is read from the message of pkcs11js", (_what, message, described) => {
  expect(describeCode(codeFrom(failing(new Error(message))) ?? 0)).toBe(described);
});

test("a code is read from the member of an error first", () => {
  expect(codeFrom(failing(Object.assign(new Error("CKR_OK:0"), { code: 179 })))).toBe(179);
});

test("an error of Cryptoki names the function", () => {
  expect(() => cryptoki("C_Sign", failing(new Error("CKR_DEVICE_ERROR:48")))).toThrow("C_Sign: 48");
});

test.each([new Error("not a code"), new Error("got CKR_DEVICE_ERROR:48"), "CKR_DEVICE_ERROR:48"])(
  "anything else is passed on: %s",
  (error) => {
    expect(() => cryptoki("C_Sign", failing(error))).toThrow(error);
    expect(() => codeFrom(failing(error))).toThrow(error);
  },
);

test("a function that succeeds has no code", () => {
  expect(codeFrom(() => "signed")).toBeUndefined();
  expect(cryptoki("C_Sign", () => "signed")).toBe("signed");
});
