import { openPkcs11Signer } from "@signpost/pkcs11";
import { startSoftHsm } from "@signpost/test-backends/softhsm";
import { flowChecks } from "./support/flow-checks.ts";

flowChecks("SoftHSM", async () => {
  const hsm = await startSoftHsm();
  await hsm.generateKey({ label: "sig", id: "01" });
  const signer = await openPkcs11Signer({ module: hsm.module, token: hsm.tokenLabel, object: "sig", pin: hsm.pin });
  return {
    signer,
    stop: async () => {
      await signer.close();
      await hsm.stop();
    },
  };
});
