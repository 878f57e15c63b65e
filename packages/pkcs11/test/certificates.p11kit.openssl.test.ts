import { expect, test } from "vitest";
import { openPkcs11Signer, pkcs11Certificates } from "@signpost/pkcs11";
import { startP11Kit } from "@signpost/test-backends/p11kit";
import { startSoftHsm } from "@signpost/test-backends/softhsm";
import { createTestAuthority } from "./support/test-authority.ts";

// Each thread has an instance of this module.
test("certificates are read through a socket, with and without an open signer", async () => {
  const hsm = await startSoftHsm();
  const { publicKey } = await hsm.generateKey({ label: "k1", id: "01" });
  await using authority = await createTestAuthority();
  const { file } = await authority.issue("leaf", publicKey);
  await hsm.pkcs11Tool("--write-object", file, "--type", "cert", "--label", "leaf", "--id", "01");
  const remote = await startP11Kit(hsm);
  const options = { module: remote.module, token: hsm.tokenLabel, object: "k1" };
  const labels = async (): Promise<readonly string[]> =>
    (await pkcs11Certificates(options)).flatMap((chain) => chain.map(({ label }) => label));
  try {
    expect(await labels()).toEqual(["leaf"]);
    const signer = await openPkcs11Signer({ ...options, pin: hsm.pin });
    expect(await labels()).toEqual(["leaf"]);
    await expect(signer.sign(Buffer.alloc(32, 1))).resolves.toHaveLength(64);
    await signer.close();
  } finally {
    await remote.stop();
    await hsm.stop();
  }
});
