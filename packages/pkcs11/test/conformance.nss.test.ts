import { afterAll, beforeAll, describe, test } from "vitest";
import { signerChecks } from "@signpost/conformance";
import { openPkcs11Signer, type Pkcs11SignerOptions } from "@signpost/pkcs11";
import { type NssToken, startNss } from "@signpost/test-backends/nss";
import { generateP256Key } from "@signpost/test-backends/pkcs11-keygen";

let nss: NssToken;
let base: Omit<Pkcs11SignerOptions, "policy">;

beforeAll(async () => {
  nss = await startNss();
  const { module, libraryParameters, tokenLabel: token, pin } = nss;
  generateP256Key({ module, libraryParameters, token, pin, label: "k1", id: Buffer.from("01", "hex") });
  base = { module, libraryParameters, token, pin, object: "k1" };
});
afterAll(() => nss.stop());

describe("a signer on an NSS database", () => {
  for (const check of signerChecks({
    open: (policy) => openPkcs11Signer({ ...base, policy }),
    openWith: (limits) => openPkcs11Signer({ ...base, ...limits }),
    secrets: ["nss-31415926"],
  })) {
    test(check.name, check.run);
  }
});
