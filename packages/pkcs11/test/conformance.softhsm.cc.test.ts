import { afterAll, beforeAll, describe, test } from "vitest";
import { signerChecks, SLOW_FAULT_MS } from "@signpost/conformance";
import { forgetRefusedPins, openPkcs11Signer } from "@signpost/pkcs11";
import { type Pkcs11Shim, startShim } from "@signpost/test-backends/pkcs11-shim";
import { type SoftHsm, startSoftHsm } from "@signpost/test-backends/softhsm";
import { closeAllSessions } from "./support/module-user.ts";
import { until } from "./support/signing.ts";

const PIN = "73920145";
let hsm: SoftHsm;
let shim: Pkcs11Shim;

beforeAll(async () => {
  hsm = await startSoftHsm({ pin: PIN });
  await hsm.generateKey({ label: "k1", id: "01" });
  shim = await startShim(hsm.module);
});
afterAll(async () => {
  await shim.stop();
  await hsm.stop();
});

const when =
  (start: () => void) =>
  async (on: boolean): Promise<void> =>
    on ? start() : shim.clear();

/** It is over when the calls that hung have come back. */
async function hang(on: boolean): Promise<void> {
  if (on) return shim.hang("C_Sign", 1_000);
  shim.clear();
  await until(() => shim.counter("hung") === 0);
}

describe("a signer on SoftHSM", () => {
  for (const check of signerChecks({
    open: (policy) => openPkcs11Signer({ module: shim.module, token: hsm.tokenLabel, object: "k1", pin: PIN, policy }),
    openWith: (limits) =>
      openPkcs11Signer({ module: shim.module, token: hsm.tokenLabel, object: "k1", pin: PIN, ...limits }),
    secrets: [PIN],
    faults: {
      unreachable: when(() => {
        for (const name of ["C_Sign", "C_OpenSession", "C_Initialize"] as const) shim.fail(name, 0x32);
      }),
      unavailable: when(() => shim.fail("C_Sign", 0x30)),
      "session-lost": async (on) => {
        if (on && shim.counter("openSessions") > 0) closeAllSessions(shim.module, hsm.tokenLabel);
      },
      hang,
      slow: when(() => shim.delay("C_Sign", SLOW_FAULT_MS)),
      empty: when(() => shim.tamper("empty")),
      corrupted: when(() => shim.tamper("flip")),
      "bad-signature": when(() => shim.tamper("other-digest")),
      "malformed-signature": when(() => shim.tamper("short")),
      "out-of-range-signature": when(() => shim.tamper("zero-r")),
      "access-denied": when(() => shim.fail("C_Sign", 0x1b)),
      "ambiguous-key": async (on) => {
        if (on) await hsm.generateKey({ label: "k1", id: "02" });
        else
          for (const type of ["privkey", "pubkey"])
            await hsm.pkcs11Tool("--delete-object", "--type", type, "--id", "02");
      },
      "pin-incorrect": async (on) => {
        if (on) return shim.fail("C_Login", 0xa0);
        shim.clear();
        // It was the right PIN all the time.
        await forgetRefusedPins();
      },
      "pin-locked": when(() => shim.fail("C_Login", 0xa4)),
    },
    recoveryMs: 10_000,
  })) {
    test(check.name, check.run);
  }
});
