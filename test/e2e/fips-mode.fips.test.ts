import { execFile } from "node:child_process";
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
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

test("the commands, the configuration and the check of the page start a process in FIPS mode, and none without them", async () => {
  const folder = await mkdtemp(join(tmpdir(), "signpost-fips-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const page = await readFile(new URL("../../docs/fips.md", import.meta.url), "utf8");
  const block = (language: string): string =>
    (new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(page)?.[1] ?? "").replaceAll("/opt/fips", folder);
  await copyFile(join(settingOf("SIGNPOST_FIPS_MODULES"), "fips.so"), join(folder, "fips.so"));
  await writeFile(join(folder, "openssl.cnf"), block("ini"));
  // It is JavaScript as it stands.
  await writeFile(join(folder, "server.mjs"), `${block("ts")}console.log("started");\n`);
  const commands = block("sh").replace("server.js", "server.mjs");
  expect(commands.split("\n").filter(Boolean)).toHaveLength(3);
  const run = (line: string) => promisify(execFile)("sh", ["-ec", line], { cwd: folder });
  expect((await run(commands)).stdout).toMatch(/started\n$/);
  await expect(run("node server.mjs")).rejects.toThrow("this process is not in FIPS mode");
});
