import { startGcpKmsEmulator, type GcpKmsEmulator } from "@signpost/test-backends/gcp-kms-emulator";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Finding } from "../src/doctor/finding.ts";
import { expectMeasured } from "./support/bench-report.ts";
import { createKeyFolder, type KeyFolder } from "./support/key-folder.ts";
import { runCli, type CliResult } from "./support/run-cli.ts";

const LOCATION = "projects/signpost-test/locations/europe-west3";
const KEY = `gcpkms://${LOCATION}/keyRings/op/cryptoKeys/id-token`;
let emulator: GcpKmsEmulator;
let folder: KeyFolder;

beforeAll(async () => {
  [emulator, folder] = await Promise.all([startGcpKmsEmulator(), createKeyFolder()]);
  const rings = `http://${emulator.host}:${emulator.restPort}/v1/${LOCATION}/keyRings?keyRingId=op`;
  const { ok } = await fetch(rings, { method: "POST", body: "{}" });
  if (!ok) throw new Error("the emulator made no key ring");
  await folder.write("signpost.config.json", {
    issuer: "https://op.example",
    keys: [],
    adapters: { gcpkms: { endpoint: `http://${emulator.host}:${emulator.grpcPort}` } },
  });
});
afterAll(async () => {
  await emulator.stop();
  await folder[Symbol.asyncDispose]();
});

function cli(...args: readonly string[]): Promise<CliResult> {
  return runCli([...args, "--config", "signpost.config.json"], { cwd: folder.path });
}

test("keygen makes a key, and another version only if told", async () => {
  const first = await cli("keygen", KEY, "--protection", "software", "--key-id", "sig-1");
  expect(first).toMatchObject({
    code: 0,
    stderr: `✓ made ${KEY}/cryptoKeyVersions/1\n✓ signed and verified a probe\n`,
  });
  expect(JSON.parse(first.stdout)).toEqual({ keyId: "sig-1", signer: `${KEY}/cryptoKeyVersions/1` });
  expect(await cli("keygen", KEY, "--protection", "software")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("Make another version of it with --new-version"),
  });
  const second = await cli("keygen", KEY, "--new-version");
  expect(JSON.parse(second.stdout)).toMatchObject({ signer: `${KEY}/cryptoKeyVersions/2` });
});

test("doctor says what the service tells, and what it does not", async () => {
  const { code, stdout } = await cli("doctor", `${KEY}/cryptoKeyVersions/1`, "--samples", "1", "--json");
  expect(code).toBe(0);
  const [{ findings }] = JSON.parse(stdout).keys;
  expect(findings.map(({ check, level }: Finding) => `${check} ${level}`)).toEqual([
    "open ok",
    "probe ok",
    "latency note",
    "key note",
    "rotation ok",
    "permissions note",
  ]);
});

test("bench measures the key against the bare SDK", async () => {
  const flags = ["--raw", "--calls", "5", "--concurrency", "1,2", "--json", "--yes"];
  const { code, stdout, stderr } = await cli("bench", `${KEY}/cryptoKeyVersions/1`, ...flags);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "Google Cloud KMS bills up to 28 calls\n" });
  expectMeasured(stdout, { name: "bare SDK", calls: 5 });
});
