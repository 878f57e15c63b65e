import { generateKeyPairSync } from "node:crypto";
import { callKms } from "@signpost/test-backends/aws-kms-emulator";
import { startLocalstack } from "@signpost/test-backends/localstack";
import { startSoftHsm } from "@signpost/test-backends/softhsm";
import { expect, test } from "vitest";
import { type ClusterKeys, type ClusterRun, runCluster } from "./support/cluster-run.ts";
import { privateFolder } from "./support/private-folder.ts";

// 10,000 tokens in all, asked for and verified by kube-apiserver's own code, over a rotation, an emergency, a restart and a
// `kill -9` with each backend.

const MINUTES = 4 * 60_000;

test("5,000 tokens of SoftHSM", { timeout: MINUTES }, async () => {
  await using token = await startSoftHsm();
  const uris: string[] = [];
  for (const id of ["01", "02", "03"]) {
    await token.generateKey({ label: `sa-${id}`, id });
    uris.push(`pkcs11:token=${token.tokenLabel};object=sa-${id}`);
  }
  await using folder = await privateFolder();
  const pin = `file:${await folder.write("pin", token.pin)}`;
  const run = await runCluster(
    { uris: three(uris), adapters: { pkcs11: { module: token.module, pin } }, env: token.env },
    5000,
  );
  expectWhole(run, 5000);
});

test("2,000 tokens of AWS KMS", { timeout: MINUTES }, async () => {
  const kms = await startLocalstack();
  try {
    const host = new URL(kms.endpoint).host;
    const uris = await Promise.all(
      [1, 2, 3].map(async () => {
        const { output } = await callKms(kms, "CreateKey", { KeySpec: "ECC_NIST_P256", KeyUsage: "SIGN_VERIFY" });
        const { Arn: arn } = output["KeyMetadata"] as { readonly Arn: string };
        return `awskms://${host}/${arn}`;
      }),
    );
    const { accessKeyId, secretAccessKey } = kms.credentials;
    const env = { AWS_REGION: kms.region, AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey };
    expectWhole(await runCluster({ uris: three(uris), env }, 2000), 2000);
  } finally {
    await kms.stop();
  }
});

test("3,000 tokens of local keys", { timeout: MINUTES }, async () => {
  await using folder = await privateFolder();
  const uris = await Promise.all(
    ["a", "b", "c"].map(async (name) => {
      const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
      const path = await folder.write(name, privateKey.export({ type: "pkcs8", format: "pem" }).toString());
      return `local:${path}`;
    }),
  );
  expectWhole(await runCluster({ uris: three(uris) }, 3000), 3000);
});

function three(uris: readonly string[]): ClusterKeys["uris"] {
  const [first = "", second = "", third = ""] = uris;
  return [first, second, third];
}

function expectWhole({ tokens, errors, errorsOfKill, refused }: ClusterRun, count: number): void {
  expect(errors).toEqual([]);
  for (const error of errorsOfKill) expect(error).toContain("code = Unavailable");
  const { first, second, third } = tokens;
  expect(first.length + second.length + third.length).toBeGreaterThanOrEqual(count);
  for (const list of [first, second, third]) expect(list.length).toBeGreaterThan(0);
  // The second key was revoked.
  expect(refused).toEqual({ first: [], second: ["invalid signature, no keys found"], third: [] });
}
