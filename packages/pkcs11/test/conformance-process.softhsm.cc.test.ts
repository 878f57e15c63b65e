import { afterAll, beforeAll, describe, test } from "vitest";
import { signerChecks } from "@signpost/conformance";
import { openPkcs11Signer } from "@signpost/pkcs11";
import { type Pkcs11Shim, startShim } from "@signpost/test-backends/pkcs11-shim";
import { type SoftHsm, startSoftHsm } from "@signpost/test-backends/softhsm";

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

describe("a signer on SoftHSM in a child process", () => {
  for (const check of signerChecks({
    open: (policy) =>
      openPkcs11Signer({
        module: shim.module,
        token: hsm.tokenLabel,
        object: "k1",
        pin: PIN,
        isolation: "process",
        sessions: 2,
        policy,
      }),
    openWith: (limits) =>
      openPkcs11Signer({
        module: shim.module,
        token: hsm.tokenLabel,
        object: "k1",
        pin: PIN,
        isolation: "process",
        sessions: 2,
        ...limits,
      }),
    secrets: [PIN],
    faults: {
      hang: async (on) => (on ? shim.hang("C_Sign", 1_000) : shim.clear()),
      unavailable: async (on) => (on ? shim.fail("C_Sign", 0x30) : shim.clear()),
    },
    recoveryMs: 10_000,
  })) {
    test(check.name, check.run);
  }
});
