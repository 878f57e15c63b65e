import { X509Certificate } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { GuardedSigner } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { startStepCa, type StepCa } from "@signpost/test-backends/step-ca";
import { createCsr, inspectChain, readCertificates } from "@signpost/x509";

let ca: StepCa;
let signer: GuardedSigner;

beforeAll(async () => {
  [ca, signer] = await Promise.all([startStepCa(), openLocalSigner()]);
});

afterAll(async () => {
  await signer.close();
  await ca.stop();
});

const SANS = ["op.example", "https://op.example/tenant", "ops@op.example", "192.0.2.1", "2001:db8::1"];

test("step-ca signs a request, and the chain is good", async () => {
  const { pem } = await createCsr(signer, {
    subject: "CN=op.example,O=Münchner Beispiel,C=DE",
    subjectAltNames: [
      { dns: "op.example" },
      { uri: "https://op.example/tenant" },
      { email: "ops@op.example" },
      { ip: "192.0.2.1" },
      { ip: "2001:db8::1" },
    ],
    extensions: { extendedKeyUsage: ["clientAuth"] },
  });
  const { status, chain, message } = await ca.sign(pem, { subject: "op.example", sans: SANS });
  expect({ status, message }).toEqual({ status: 201, message: undefined });
  const inspected = inspectChain(readCertificates(chain.join("\n")), { trustAnchors: readCertificates(ca.root) });
  expect(inspected).toMatchObject({ isInOrder: true, endsWithRoot: false, isTrusted: true, problems: [] });
  const [leaf] = inspected.chain;
  expect(leaf?.subject).toBe("CN=op.example,O=Münchner Beispiel,C=DE");
  expect(leaf?.subjectAltNames).toHaveLength(5);
  expect(leaf?.keyUsage).toEqual(["digitalSignature"]);
  expect(new X509Certificate(leaf?.pem ?? "").publicKey.export({ format: "jwk" })).toEqual(signer.publicKey);
});

test("it compares the names of the request: one more is refused", async () => {
  const { pem } = await createCsr(signer, {
    subject: "CN=op.example",
    subjectAltNames: [{ dns: "op.example" }, { dns: "other.example" }],
  });
  const { status, chain } = await ca.sign(pem, { subject: "op.example", sans: ["op.example"] });
  expect({ status, chain }).toEqual({ status: 403, chain: [] });
});

test("it verifies the signature: a request that was changed is refused", async () => {
  const { der } = await createCsr(signer, { subject: "CN=op.example", subjectAltNames: [{ dns: "op.example" }] });
  const changed = Buffer.from(der);
  changed.write("O", changed.indexOf("op.example"));
  const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${changed.toString("base64")}\n-----END CERTIFICATE REQUEST-----\n`;
  const { status } = await ca.sign(pem, { subject: "Op.example", sans: ["op.example"] });
  expect(status).toBe(400);
});
