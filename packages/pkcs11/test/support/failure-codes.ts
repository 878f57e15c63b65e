import { expect, test } from "vitest";
import { ckrRule } from "../../src/ckr.ts";
import type { ShimmedBackend } from "./shimmed-backend.ts";
import { openingOutcome, outcome } from "./signing.ts";

const VENDOR_CODE = 0x80000001;
const CKR_SESSION_COUNT = 0xb1;
const CKR_SESSION_HANDLE_INVALID = 0xb3;
/** Had for real, by a module that somebody finalises: one that is initialised does not say so. */
const CKR_CRYPTOKI_NOT_INITIALIZED = 0x190;
/** Every code that the table knows, and one that it does not. */
const CODES = [...Array.from({ length: 0x400 }, (_, code) => code), VENDOR_CODE]
  .map((code) => ({ code, ...ckrRule(code) }))
  .filter(({ code, name }) => name.startsWith("CKR_") || code === VENDOR_CODE)
  .filter(({ code }) => code !== CKR_CRYPTOKI_NOT_INITIALIZED);

/** Every CKR code out of each function that may return it, on one module. */
export function failureCodeTests(at: ShimmedBackend): void {
  test.each(CODES)("$name: what the table says, out of each function", async ({ code, action, signerCode }) => {
    // At opening it is a typed error; the next opening succeeds.
    at.shim.fail("C_OpenSession", code, { times: 1 });
    // The session that is there already is given up for it.
    const opening = code === CKR_SESSION_COUNT ? "opened" : signerCode;
    expect(await openingOutcome(at.opener.open({ ...at.base, sessions: 1 }))).toBe(opening);
    await at.opener.closeAll();
    at.shim.fail("C_Login", code, { times: 1 });
    expect(await openingOutcome(at.opener.open({ ...at.base, sessions: 1 }))).toBe(signerCode);

    // A PIN that was refused is not tried again. Everything else is the failure of one call.
    const isPin = signerCode.startsWith("pin_");
    let signer = await at.openWhole({ sessions: 2 });
    for (const name of ["C_SignInit", "C_Sign"] as const) {
      const signatures = at.shim.calls("C_Sign");
      at.shim.fail(name, code, { times: 1 });
      expect(await outcome(signer)).toBe(action === "fatal" ? signerCode : "signed");
      expect(at.shim.calls("C_Sign") - signatures).toBeLessThanOrEqual(2);
      expect(await outcome(signer)).toBe(isPin ? signerCode : "signed");
      if (!isPin) continue;
      await signer.close();
      signer = await at.openWhole({ sessions: 2 });
    }

    // While a session is replaced, signing goes on.
    at.shim.fail("C_OpenSession", code, { times: 1 });
    at.shim.fail("C_Sign", CKR_SESSION_HANDLE_INVALID, { times: 1 });
    expect(await outcome(signer)).toBe("signed");
  });
}
