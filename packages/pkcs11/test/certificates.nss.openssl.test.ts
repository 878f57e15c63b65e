import { execFile } from "node:child_process";
import { createPublicKey } from "node:crypto";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { openPkcs11Signer, pkcs11Certificates } from "@signpost/pkcs11";
import { startNss } from "@signpost/test-backends/nss";
import { generateP256Key } from "@signpost/test-backends/pkcs11-keygen";
import { createTestAuthority } from "./support/test-authority.ts";

test("NSS shows the chain of a key, which its own tool imported", async () => {
  await using authority = await createTestAuthority();
  await using nss = await startNss();
  const { module, libraryParameters, tokenLabel: token, pin } = nss;
  generateP256Key({ module, libraryParameters, token, pin, label: "sig", id: Uint8Array.of(1) });
  await using signer = await openPkcs11Signer({ module, libraryParameters, token, pin, object: "sig" });
  const key = createPublicKey({ key: { ...signer.publicKey }, format: "jwk" });
  const leaf = await authority.issue("leaf", key);
  const { issuing, root } = authority;
  for (const [name, { file }] of Object.entries({ leaf, issuing, root })) {
    await promisify(execFile)("certutil", ["-A", "-d", nss.database, "-n", name, "-t", ",,", "-i", file]);
  }
  const { publicKey } = signer;
  await signer.close();
  const chains = await pkcs11Certificates({ module, libraryParameters, token, publicKey });
  expect(chains.map((chain) => chain.map(({ label }) => label))).toEqual([["leaf", "issuing", "root"]]);
  expect(Buffer.from(chains[0]?.[0]?.der ?? []).equals(leaf.x509.raw)).toBe(true);
});
