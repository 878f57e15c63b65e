import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { startFakeAwsKms } from "@signpost/test-backends/fake-aws-kms";
import { startFakeAzureKeyVault } from "@signpost/test-backends/fake-azure-key-vault";

// What docs/fips.md says works, works in a Node whose only cryptography is OpenSSL's FIPS provider.

const PROGRAM = fileURLToPath(new URL("support/fips-program.mjs", import.meta.url));
const SCOPE = "https://vault.azure.net/.default";

function settingOf(variable: string): string {
  const value = process.env[variable];
  if (value === undefined) throw new Error(`${variable}: expected a path`);
  return value;
}

test("the packages sign, publish and verify on Node in FIPS mode, where MD5 and secp256k1 are refused", async () => {
  await using kms = await startFakeAwsKms();
  kms.pointAlias("alias/op", kms.addKey());
  await using vault = await startFakeAzureKeyVault();
  vault.resource = "https://vault.azure.net";
  const env = {
    ...process.env,
    OPENSSL_MODULES: settingOf("SIGNPOST_FIPS_MODULES"),
    OPENSSL_CONF: settingOf("SIGNPOST_FIPS_CONF"),
    KMS_ENDPOINT: kms.endpoint,
    AWS_ACCESS_KEY_ID: kms.credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: kms.credentials.secretAccessKey,
    AZURE_VAULT: vault.url,
    AZURE_CA: vault.caFile,
    AZURE_TOKEN: vault.entra.issue(SCOPE).token,
    AZURE_SCOPE: SCOPE,
  };
  const { stdout } = await promisify(execFile)(process.execPath, ["--enable-fips", PROGRAM], { env });
  const verified = { verifier: "s", jose: "s", changed: "bad_signature" };
  expect(JSON.parse(stdout)).toEqual({
    fips: 1,
    md5: expect.stringContaining("ERR_OSSL"),
    secp256k1: expect.stringMatching(/unknown.group/i),
    local: verified,
    awsSdk: verified,
    azureOverTls: verified,
    assertions: { ES256: "client", RS256: "client", PS256: "client" },
    certificates: { csr: true, problems: [] },
    digestOnly: 64,
  });
});
