import { expect, test } from "vitest";
import { codeName } from "../src/backends/pkcs11/code-name.ts";

const failed = (message: string, code?: unknown): Error =>
  Object.assign(new Error(message), code === undefined ? {} : { code });

test.each<[what: string, error: unknown, name: string | undefined]>([
  ["a code of the standard", failed("CKR_PIN_INCORRECT", 0xa0), "CKR_PIN_INCORRECT"],
  ["one with its number in the message", failed("CKR_DEVICE_ERROR:48"), "CKR_DEVICE_ERROR"],
  ["one with more text", failed("CKR_SESSION_COUNT:177 secret", 177), "CKR_SESSION_COUNT"],
  ["a code of a vendor", failed("CKR_VENDOR_DEFINED", 0x80000123), "CKR 0x80000123"],
  ["one of a vendor in the message", failed("CKR_VENDOR_DEFINED:2147483939"), "CKR 0x80000123"],
  ["one of the standard that pkcs11js does not know", failed("CKR_VENDOR_DEFINED", 0x1b), "CKR 0x1b"],
  ["one that pkcs11js has rounded", failed("CKR_VENDOR_DEFINED", 2 ** 64), "CKR_VENDOR_DEFINED"],
  ["one without its number", failed("CKR_VENDOR_DEFINED"), "CKR_VENDOR_DEFINED"],
  ["another text", failed("got CKR_DEVICE_ERROR"), undefined],
  ["something else", "CKR_DEVICE_ERROR", undefined],
])("%s", (_what, error, name) => {
  expect(codeName(error)).toBe(name);
});
