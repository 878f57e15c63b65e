import { generateKeyPairSync } from "node:crypto";
import { KMSClient } from "@aws-sdk/client-kms";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openAwsKmsSigner } from "@signpost/aws-kms";
import type { KmsEmulator } from "@signpost/test-backends/aws-kms-emulator";
import { startLocalKms } from "@signpost/test-backends/local-kms";
import { createCsr, inspectChain, readCertificates, selfSigned } from "@signpost/x509";
import { openssl } from "./support/openssl.ts";

let emulator: KmsEmulator;
let client: KMSClient;
const keyId = "11111111-2222-4333-8444-555555555555";

beforeAll(async () => {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  emulator = await startLocalKms({ keys: [{ keyId, privateKey }] });
  const { region, endpoint, credentials } = emulator;
  client = new KMSClient({ region, endpoint, credentials });
});

afterAll(async () => {
  client.destroy();
  await emulator.stop();
});

test("a key in AWS KMS signs its request, and a certificate", async () => {
  await using signer = await openAwsKmsSigner({ key: keyId, client });
  const { pem } = await createCsr(signer, { subject: "CN=op.example", subjectAltNames: [{ dns: "op.example" }] });
  expect(openssl(pem, "req", "-verify", "-noout", "-subject")).toContain("op.example");
  const { der } = await selfSigned(signer, { subject: "CN=op.example" });
  expect(inspectChain(readCertificates(der))).toMatchObject({ problems: [], endsWithRoot: true });
});
