import { afterAll, beforeAll, describe, test } from "vitest";
import { signerChecks } from "@signpost/conformance";
import { openPkcs11Signer } from "@signpost/pkcs11";
import { type P11KitRemote, startP11Kit } from "@signpost/test-backends/p11kit";
import { type SoftHsm, startSoftHsm } from "@signpost/test-backends/softhsm";

const PIN = "73920145";
let hsm: SoftHsm;
let remote: P11KitRemote;

beforeAll(async () => {
  hsm = await startSoftHsm({ pin: PIN });
  await hsm.generateKey({ label: "k1", id: "01" });
  remote = await startP11Kit(hsm);
});
afterAll(async () => {
  await remote.stop();
  await hsm.stop();
});

describe("a signer on a token behind a socket", () => {
  for (const check of signerChecks({
    open: (policy) =>
      openPkcs11Signer({ module: remote.module, token: hsm.tokenLabel, object: "k1", pin: PIN, policy }),
    openWith: (limits) =>
      openPkcs11Signer({ module: remote.module, token: hsm.tokenLabel, object: "k1", pin: PIN, ...limits }),
    secrets: [PIN],
  })) {
    test(check.name, check.run);
  }
});
