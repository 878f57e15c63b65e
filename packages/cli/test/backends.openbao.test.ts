import { startOpenbao, type Openbao } from "@signpost/test-backends/openbao";
import { importJWK, jwtVerify } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Finding } from "../src/doctor/finding.ts";
import { expectMeasured } from "./support/bench-report.ts";
import { createKeyFolder, type KeyFolder } from "./support/key-folder.ts";
import { runCli, type CliOptions, type CliResult } from "./support/run-cli.ts";

let server: Openbao;
let folder: KeyFolder;
/** May sign with the key `op`, and nothing else. */
let token: string;

beforeAll(async () => {
  [server, folder] = await Promise.all([startOpenbao(), createKeyFolder()]);
  await server.must("POST", "transit/keys/op", { type: "ecdsa-p256" });
  const policy = [
    `path "transit/keys/op" { capabilities = ["read"] }`,
    `path "transit/sign/op/sha2-256" { capabilities = ["update"] }`,
  ].join("\n");
  await server.must("PUT", "sys/policies/acl/op", { policy });
  token = String((await server.must("POST", "auth/token/create", { policies: ["op"] }))["client_token"]);
});
afterAll(async () => {
  await server.stop();
  await folder[Symbol.asyncDispose]();
});

function cli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  const env = { VAULT_ADDR: server.address, VAULT_TOKEN: token, ...options.env };
  return runCli(args, { cwd: folder.path, ...options, env });
}

async function findings(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<readonly string[]> {
  const { stdout } = await cli(["doctor", ...args, "--samples", "0", "--json"], { env });
  const [{ findings: found }] = JSON.parse(stdout).keys;
  return found.map(({ check, level, text }: Finding) => `${check} ${level} ${text}`);
}

test("doctor finds nothing to do for a key that is not exportable and a token that only signs", async () => {
  expect(await findings(["vault:///transit/keys/op"])).toEqual([
    expect.stringMatching(/^open ok/),
    "probe ok signs, and the signature verifies with the public key",
    expect.stringMatching(/^clock (?:ok|note)/),
    "key ok not exportable",
    "rotation ok the engine makes no new versions by itself",
    "permissions ok the token may do nothing more than signing needs",
  ]);
});

test("doctor finds a key that leaves the server, a rotation that surprises, and a token that may do everything", async () => {
  await server.must("POST", "transit/keys/loose", {
    type: "ecdsa-p256",
    exportable: true,
    allow_plaintext_backup: true,
    auto_rotate_period: "24h",
  });
  await server.must("POST", "transit/keys/loose/config", { deletion_allowed: true });
  const found = await findings(["vault:///transit/keys/loose"], { VAULT_TOKEN: server.token });
  expect(found).toEqual(
    expect.arrayContaining([
      "key problem the key is exportable: its private half can leave the server",
      "key problem plaintext backups are allowed, and contain the private key",
      "key warning the key may be deleted",
      "rotation warning the engine makes a new version every 24 h",
      expect.stringMatching(/^permissions warning the token may also change or delete the key, .*export it/),
    ]),
  );
});

test("a token from the configuration is read from where it says, and never printed", async () => {
  await folder.write("signpost.config.json", {
    issuer: "https://op.example",
    keys: [{ keyId: "sig-1", signer: "vault:///transit/keys/op?version=1" }],
    adapters: { vault: { address: server.address, auth: { method: "token", token: "env:OP_TOKEN" } } },
  });
  const env = { VAULT_ADDR: "", VAULT_TOKEN: "", OP_TOKEN: token };
  const { code, stdout, stderr } = await cli(["sign"], { env, stdin: '{"sub":"test"}' });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const jwks = JSON.parse((await cli(["jwks"], { env })).stdout);
  const { protectedHeader } = await jwtVerify(stdout.trim(), await importJWK(jwks.keys[0], "ES256"));
  expect(protectedHeader.kid).toBe("sig-1");
  const away = await cli(["jwks"], { env: { ...env, OP_TOKEN: "s.wrong-1234" } });
  expect(away).toMatchObject({ code: 3, stdout: "" });
  expect(away.stderr).toContain("signpost.config.json: keys[0].signer: ");
  expect(away.stderr).not.toContain("s.wrong-1234");
});

test("bench measures the key against bare HTTP calls, with no question", async () => {
  const args = ["bench", "vault:///transit/keys/op", "--raw", "--calls", "10", "--concurrency", "1,3", "--json"];
  const { code, stdout, stderr } = await cli(args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expectMeasured(stdout, { name: "bare HTTP", calls: 10 });
});

test("a server that is away is no verdict on the key", async () => {
  const env = { VAULT_ADDR: "http://127.0.0.1:9" };
  const { code, stdout } = await cli(["doctor", "vault:///transit/keys/op", "--json"], { env });
  expect(code).toBe(3);
  expect(JSON.parse(stdout).keys[0].findings).toEqual([
    expect.objectContaining({ check: "open", level: "problem", text: expect.stringContaining("(unavailable)") }),
  ]);
  expect(await cli(["kid", "vault:///transit/keys/op"], { env })).toMatchObject({ code: 3, stdout: "" });
});
