import { describe, expect, test } from "vitest";
import { forgetRefusedPins } from "@signpost/pkcs11";
import { type CkrRule, ckrRule } from "../../src/cryptoki/ckr.ts";
import { request } from "./counted.ts";
import { RECOVERY_MS, type ShimmedBackend } from "./shimmed-backend.ts";
import { openingOutcome, outcome, until } from "./signing.ts";

const VENDOR_CODE = 0x80000001;
const CKR_SESSION_COUNT = 0xb1;
const CKR_SESSION_HANDLE_INVALID = 0xb3;
/** Produced for real, by a module that other code finalizes. An initialized module does not return it. */
const CKR_CRYPTOKI_NOT_INITIALIZED = 0x190;

/**
 * Out of C_Initialize, of calls about attributes and of those that make keys: no call here returns them, and what is done does not
 * depend on the module.
 */
const ELSEWHERE = [0x09, 0x0a, 0x11, 0x12, 0x13, 0x130, 0x140, 0x1b7, 0x1b9, 0x207, 0x208, 0x209];

type Row = CkrRule & { readonly code: number };

/** Every code that the table has a rule for and that a call here may return, and one that it does not know. */
const ROWS: readonly Row[] = [...Array.from({ length: 0x400 }, (_, code) => code), VENDOR_CODE]
  .map((code) => ({ code, ...ckrRule(code) }))
  .filter(({ code, name }) => (name.startsWith("CKR_") && !isLikeUnknown(code)) || code === VENDOR_CODE)
  .filter(({ code }) => code !== CKR_CRYPTOKI_NOT_INITIALIZED && !ELSEWHERE.includes(code));

/** It has a name and no more: what is done is what is done about unknown codes. */
function isLikeUnknown(code: number): boolean {
  const { action, signerCode } = ckrRule(code);
  return code > 0x07 && action === "repeated" && signerCode === ckrRule(VENDOR_CODE).signerCode;
}

const PIN_ROWS = ROWS.filter(({ signerCode }) => signerCode.startsWith("pin_"));
const OTHER_ROWS = ROWS.filter((row) => !PIN_ROWS.includes(row));

/** One code for each thing that is done about them. */
const ACTION_ROWS = OTHER_ROWS.filter(
  ({ action }, index) => OTHER_ROWS.findIndex((other) => other.action === action) === index,
);

/** Every CKR code out of each function that may return it, on one module. */
export function failureCodeTests(at: ShimmedBackend): void {
  describe("each CKR code, once", () => {
    test("at opening: a typed error, whether C_OpenSession or C_Login returns it", async () => {
      const seen: string[][] = [];
      for (const { code, name } of ROWS) {
        const outcomes: string[] = [name];
        for (const call of ["C_OpenSession", "C_Login"] as const) {
          at.shim.fail(call, code, { times: 1 });
          outcomes.push(await openingOutcome(at.opener.open({ ...at.base, sessions: 1 })));
          await at.opener.closeAll();
          await forgetRefusedPins();
        }
        seen.push(outcomes);
      }
      // The session that is there already is given up for a new one.
      const expected = ROWS.map(({ code, name, signerCode }) => [
        name,
        code === CKR_SESSION_COUNT ? "opened" : signerCode,
        signerCode,
      ]);
      expect(seen).toEqual(expected);
      expect(await outcome(await at.opener.open(at.base))).toBe("signed");
    }, 600_000);

    test("out of C_SignInit and C_Sign: what the table says, and C_Sign is called twice at most", async () => {
      const signer = await at.openWhole();
      const seen: string[][] = [];
      for (const { code, name, action } of OTHER_ROWS) {
        const outcomes: string[] = [name];
        for (const call of ["C_SignInit", "C_Sign"] as const) {
          at.shim.fail(call, code, { times: 1 });
          const { code: seenCode, sent } = await request(at, signer);
          expect(sent).toBeLessThanOrEqual(2);
          await until(async () => (await outcome(signer)) === "signed", RECOVERY_MS);
          // A fresh start of p11-kit's client starts several SoftHSMs at once, which may miss the token while one of them logs in.
          const late = at.backend.instances && action === "reinitialize" && seenCode === "unavailable";
          outcomes.push(late ? "signed" : seenCode);
        }
        seen.push(outcomes);
      }
      expect(seen).toEqual(
        OTHER_ROWS.map(({ name, action, signerCode }) => {
          const expected = action === "fatal" ? signerCode : "signed";
          return [name, expected, expected];
        }),
      );
    }, 600_000);

    test.each(ACTION_ROWS)(
      "$name out of C_OpenSession while a session is replaced: signing goes on",
      async ({ code }) => {
        const signer = await at.openWhole();
        const opened = at.shim.calls("C_OpenSession");
        at.shim.fail("C_OpenSession", code, { times: 1 });
        at.shim.fail("C_Sign", CKR_SESSION_HANDLE_INVALID, { times: 1 });
        await at.expectSigned(signer);
        await until(() => at.shim.calls("C_OpenSession") > opened);
        await at.expectSigned(signer);
        expect(at.shim.calls("C_OpenSession")).toBeGreaterThan(opened);
      },
    );

    test.each(PIN_ROWS)("$name out of C_SignInit is final: a PIN is not tried again", async ({ code, signerCode }) => {
      const signer = await at.openWhole();
      at.shim.fail("C_SignInit", code, { times: 1 });
      expect([await outcome(signer), await outcome(signer)]).toEqual([signerCode, signerCode]);
      await signer.close();
      expect(await outcome(await at.opener.open(at.base))).toBe("signed");
    });
  });
}
