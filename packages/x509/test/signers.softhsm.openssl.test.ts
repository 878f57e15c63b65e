import { afterAll, beforeAll, expect, test } from "vitest";
import { openPkcs11Signer } from "@signpost/pkcs11";
import { startSoftHsm, type SoftHsm } from "@signpost/test-backends/softhsm";
import { createCsr, inspectChain, readCertificates, selfSigned } from "@signpost/x509";
import { openssl } from "./support/openssl.ts";

let hsm: SoftHsm;

beforeAll(async () => {
  hsm = await startSoftHsm();
  await hsm.generateKey({ label: "sig", id: "01" });
});

afterAll(() => hsm.stop());

test.each(["thread", "process"] as const)("a key in a token signs its request (isolation %s)", async (isolation) => {
  const options = { module: hsm.module, token: hsm.tokenLabel, object: "sig", pin: hsm.pin, isolation };
  await using signer = await openPkcs11Signer(options);
  const [request, certificate] = await Promise.all([
    createCsr(signer, { subject: "CN=op.example", subjectAltNames: [{ dns: "op.example" }] }),
    selfSigned(signer, { subject: "CN=op.example" }),
  ]);
  expect(openssl(request.pem, "req", "-verify", "-noout", "-subject")).toContain("op.example");
  expect(inspectChain(readCertificates(certificate.der))).toMatchObject({ problems: [], endsWithRoot: true });
});
