import { afterAll, beforeAll, expect, test } from "vitest";
import { startOpenbao, type Openbao } from "@signpost/test-backends/openbao";
import { openVaultTransitSigner } from "@signpost/vault-transit";
import { createCsr, inspectChain, readCertificates, selfSigned } from "@signpost/x509";
import { openssl } from "./support/openssl.ts";

let server: Openbao;

/** A root in OpenBao's PKI engine, and a key in its Transit engine, which it does not give away. */
beforeAll(async () => {
  server = await startOpenbao();
  await server.must("POST", "sys/mounts/pki", { type: "pki" });
  await server.must("POST", "pki/root/generate/internal", { common_name: "Tests Root", key_type: "ec", ttl: "24h" });
  await server.must("POST", "transit/keys/op", { type: "ecdsa-p256" });
});

afterAll(() => server.stop());

test("OpenBao's PKI signs the request of a key in its Transit engine, word for word", async () => {
  const auth = { method: "token", token: server.token } as const;
  await using signer = await openVaultTransitSigner({ address: server.address, key: "op", auth });
  const { pem } = await createCsr(signer, {
    subject: "CN=op.example,OU=Tokens,O=Example,C=DE",
    subjectAltNames: [{ dns: "op.example" }, { uri: "https://op.example" }, { ip: "2001:db8::1" }],
    extensions: { extendedKeyUsage: ["clientAuth"] },
  });
  openssl(pem, "req", "-verify", "-noout");
  const signed = await server.must("POST", "pki/sign-verbatim", { csr: pem, format: "pem", ttl: "1h" });
  const [leaf, root] = [String(signed["certificate"]), String(signed["issuing_ca"])];
  const inspected = inspectChain(readCertificates(leaf), { trustAnchors: readCertificates(root) });
  expect(inspected).toMatchObject({ isTrusted: true, problems: [] });
  expect(inspected.chain[0]).toMatchObject({
    subject: "CN=op.example,OU=Tokens,O=Example,C=DE",
    subjectAltNames: [{ dns: "op.example" }, { uri: "https://op.example" }, { ip: "2001:db8::1" }],
    keyUsage: ["digitalSignature"],
    extendedKeyUsage: ["clientAuth"],
  });
  const { der } = await selfSigned(signer, { subject: "CN=op.example" });
  expect(readCertificates(der)[0]?.thumbprint).toBe(inspected.chain[0]?.thumbprint);
});
