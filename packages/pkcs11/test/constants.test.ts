import { createRequire } from "node:module";
import { describe, expect, test } from "vitest";
import * as constants from "../src/cryptoki/constants.ts";

/** Those that pkcs11js does not name, as in pkcs11t.h of OASIS PKCS#11 v3.0. */
const OF_THE_HEADER: Readonly<Record<string, number>> = {
  CKA_PUBLIC_KEY_INFO: 0x129,
  CKS_RO_USER_FUNCTIONS: 1,
  CKS_RW_USER_FUNCTIONS: 3,
};

describe("a constant has the value of the header that pkcs11js is built with", () => {
  const header = createRequire(import.meta.url)("pkcs11js") as Readonly<Record<string, unknown>>;
  test.each(Object.entries(constants))("%s, %i", (name, value) => {
    expect(value).toBe(header[name] ?? OF_THE_HEADER[name]);
  });
});
