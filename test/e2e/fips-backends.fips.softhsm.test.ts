import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { startFakeAwsKms } from "@signpost/test-backends/fake-aws-kms";
import { startFakeGcpKms } from "@signpost/test-backends/fake-gcp-kms";
import { startFakeVaultTransit } from "@signpost/test-backends/fake-vault-transit";
import { startSoftHsm } from "@signpost/test-backends/softhsm";

// The backends and the hosts that fips-mode.fips.test.ts leaves out, in a Node whose only cryptography is OpenSSL's FIPS provider.

const PROGRAM = fileURLToPath(new URL("support/fips-backends-program.mjs", import.meta.url));

test("each backend signs, and each host, on Node in FIPS mode", { timeout: 240_000 }, async () => {
  await using kms = await startFakeAwsKms();
  kms.pointAlias("alias/op", kms.addKey());
  await using gcp = await startFakeGcpKms();
  await using vault = await startFakeVaultTransit();
  await using hsm = await startSoftHsm();
  await hsm.generateKey({ label: "op", id: "01" });
  const env = {
    ...hsm.env,
    OPENSSL_MODULES: process.env["SIGNPOST_FIPS_MODULES"] ?? "",
    OPENSSL_CONF: process.env["SIGNPOST_FIPS_CONF"] ?? "",
    KMS_ENDPOINT: kms.endpoint,
    AWS_ACCESS_KEY_ID: kms.credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: kms.credentials.secretAccessKey,
    GCP_KEY: gcp.addVersion().name,
    GCP_GRPC: `http://${gcp.host}:${gcp.grpcPort}`,
    GCP_REST: `http://${gcp.host}:${gcp.restPort}`,
    VAULT_ADDRESS: vault.address,
    VAULT_KEY_TOKEN: vault.token,
    P11_MODULE: hsm.module,
    P11_TOKEN: hsm.tokenLabel,
    P11_PIN: hsm.pin,
  };
  const { stdout } = await promisify(execFile)(process.execPath, ["--enable-fips", PROGRAM], { env });
  const verified = { verifier: "s", jose: "s", changed: "bad_signature" };
  // oidc-provider writes its notices in front of it.
  expect(JSON.parse(stdout.split("\n").at(-1) ?? "")).toEqual({
    fips: 1,
    awsHttps: verified,
    gcpGrpc: verified,
    gcpRest: verified,
    vault: verified,
    pkcs11Thread: verified,
    pkcs11Process: verified,
    oidcProvider: "rp",
    betterAuth: "s",
  });
});
