import { startLocalstack } from "@signpost/test-backends/localstack";
import type { KmsEmulator } from "@signpost/test-backends/aws-kms-emulator";
import { importJWK, jwtVerify } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Finding } from "../src/doctor/finding.ts";
import { expectMeasured } from "./support/bench-report.ts";
import { runCli, type CliResult } from "./support/run-cli.ts";

let kms: KmsEmulator;
/** Where the emulator is, as a URI says it. */
let host: string;

beforeAll(async () => {
  kms = await startLocalstack();
  host = new URL(kms.endpoint).host;
});
afterAll(() => kms.stop());

function cli(args: readonly string[], stdin = ""): Promise<CliResult> {
  const { accessKeyId, secretAccessKey } = kms.credentials;
  const env = { AWS_REGION: kms.region, AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey };
  return runCli(args, { env, stdin });
}

let signer: string;

test("keygen makes a key with an alias, and its entry names the key and not the alias", async () => {
  const { code, stdout, stderr } = await cli(["keygen", `awskms://${host}/alias/op-2027`, "--key-id", "sig-2027"]);
  expect(code).toBe(0);
  const entry = JSON.parse(stdout);
  expect(entry).toEqual({
    keyId: "sig-2027",
    signer: expect.stringContaining(`awskms://${host}/arn:aws:kms:${kms.region}:`),
  });
  signer = entry.signer;
  expect(stderr).toBe(`✓ made ${signer}\n✓ signed and verified a probe\n`);
});

test("keygen makes no key if the alias exists", async () => {
  const { code, stderr } = await cli(["keygen", `awskms://${host}/alias/op-2027`]);
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: "error The alias alias/op-2027 exists, and is not replaced\nhint  Name another alias\n",
  });
});

test("a token of this key verifies with its public key", async () => {
  const { stdout } = await cli(["sign", signer], '{"sub":"test"}');
  const { publicKey } = JSON.parse((await cli(["kid", signer, "--json"])).stdout);
  const { payload } = await jwtVerify(stdout.trim(), await importJWK(publicKey, "ES256"));
  expect(payload.sub).toBe("test");
});

test("doctor knows where the key was made, and that an alias may move", async () => {
  const byAlias = await cli(["doctor", `awskms://${host}/alias/op-2027`, "--samples", "2", "--json"]);
  expect(byAlias.code).toBe(1);
  const [{ uri, findings }] = JSON.parse(byAlias.stdout).keys;
  expect(uri).toBe(signer);
  expect(findings.map(({ check, level }: Finding) => `${check} ${level}`)).toEqual([
    "open ok",
    "probe ok",
    "latency note",
    expect.stringMatching(/^clock (?:ok|note)/),
    "key ok",
    "rotation warning",
    "permissions note",
  ]);
  expect(await cli(["doctor", signer, "--samples", "0"])).toMatchObject({ code: 0 });
});

test("bench measures the key against the bare SDK, and says how many calls are billed", async () => {
  const { code, stdout, stderr } = await cli([
    "bench",
    signer,
    "--raw",
    "--calls",
    "5",
    "--concurrency",
    "1,2",
    "--json",
    "--yes",
  ]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "AWS KMS bills up to 28 calls\n" });
  expectMeasured(stdout, { name: "bare SDK", calls: 5 });
});

test("a key that is not there is a problem of the backend, with its code", async () => {
  const { code, stdout } = await cli(["kid", `awskms://${host}/alias/away`, "--json"]);
  expect(code).toBe(3);
  expect(JSON.parse(stdout)).toMatchObject({ error: { code: "key_not_found" } });
});
