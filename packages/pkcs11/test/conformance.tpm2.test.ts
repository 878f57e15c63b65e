import { afterAll, afterEach, beforeAll, describe, test } from "vitest";
import { signerChecks } from "@signpost/conformance";
import { openPkcs11Signer, type Pkcs11SignerOptions } from "@signpost/pkcs11";
import { startTpm2, type Tpm2Token } from "@signpost/test-backends/tpm2";

let tpm: Tpm2Token;

beforeAll(async () => {
  tpm = await startTpm2();
  await tpm.generateKey("k1", "01");
});
afterAll(() => tpm.stop());
// Each check has closed its signers. The module, which may leave an object behind, has three places for them in all.
afterEach(() => tpm.flush());

const base = (): Omit<Pkcs11SignerOptions, "policy"> => ({
  module: tpm.module,
  token: tpm.tokenLabel,
  object: "k1",
  pin: tpm.pin,
  sessions: 2,
});

describe("a signer on a TPM", () => {
  for (const check of signerChecks({
    open: (policy) => openPkcs11Signer({ ...base(), policy }),
    openWith: (limits) => openPkcs11Signer({ ...base(), ...limits }),
    secrets: ["24681357"],
  })) {
    test(check.name, check.run);
  }
});
