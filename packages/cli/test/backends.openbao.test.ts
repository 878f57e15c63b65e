import { startOpenbao, type Openbao } from "@signpost/test-backends/openbao";
import { importJWK, jwtVerify } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Finding } from "../src/doctor/finding.ts";
import { expectMeasured } from "./support/bench-report.ts";
import { createKeyFolder, type KeyFolder } from "./support/key-folder.ts";
import { runApp } from "./support/run-app.ts";
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
/** Runs a command in this process, with a token of the configuration: for further cases than those of the built program. */
async function app(args: readonly string[], of: string = server.token): Promise<CliResult> {
  const adapters = { vault: { address: server.address, auth: { method: "token", token: "env:OP_TOKEN" } } };
  await folder.write("adapters.json", { issuer: "https://op.example", keys: [], adapters });
  return runApp([...args, "--config", "adapters.json"], { cwd: folder.path, env: { OP_TOKEN: of } });
}

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
  return findingsIn(stdout);
}

function findingsIn(stdout: string): readonly string[] {
  const [{ findings: found }] = JSON.parse(stdout).keys;
  return found.map(({ check, level, text }: Finding) => `${check} ${level} ${text}`);
}

test("doctor finds nothing to do for a key that is not exportable and a token that only signs", async () => {
  expect(await findings(["vault:///transit/keys/op?version=1"])).toEqual([
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

test("doctor says that a URI without a version may lead to another key, and which versions are newer", async () => {
  await server.must("POST", "transit/keys/rotated", { type: "ecdsa-p256" });
  await server.must("POST", "transit/keys/rotated/rotate", {});
  const found = async (uri: string): Promise<readonly string[]> =>
    findingsIn((await app(["doctor", uri, "--samples", "0", "--json"])).stdout);
  expect(await found("vault:///transit/keys/rotated")).toContain(
    "rotation warning the URI names no version, so a restart after a rotation signs with another key",
  );
  expect(await found("vault:///transit/keys/rotated?version=1")).toContain(
    "rotation note the engine has 1 newer version",
  );
});

describe("keygen", () => {
  test("makes a key that cannot be exported or backed up, and another version only if told", async () => {
    const env = { VAULT_TOKEN: server.token };
    const first = await cli(["keygen", "vault:///transit/keys/made", "--key-id", "sig-1"], { env });
    expect(first).toMatchObject({
      code: 0,
      stderr: "✓ made vault:///transit/keys/made?version=1\n✓ signed and verified a probe\n",
    });
    expect(JSON.parse(first.stdout)).toEqual({ keyId: "sig-1", signer: "vault:///transit/keys/made?version=1" });
    expect(await server.must("GET", "transit/keys/made")).toMatchObject({
      type: "ecdsa-p256",
      exportable: false,
      allow_plaintext_backup: false,
      deletion_allowed: false,
      latest_version: 1,
    });
    expect(await app(["keygen", "vault:///transit/keys/made"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("The key made exists, and is not replaced"),
    });
    const second = await app(["keygen", "vault:///transit/keys/made", "--new-version"]);
    expect(JSON.parse(second.stdout)).toMatchObject({ signer: "vault:///transit/keys/made?version=2" });
  });

  test("makes no version of a key that is not there, or that could not be opened", async () => {
    await server.must("POST", "transit/keys/aes", { type: "aes256-gcm96" });
    const cases = [
      ["away", 2, "There is no key away in transit"],
      ["aes", 2, "A key aes that is not ecdsa-p256 exists"],
    ] as const;
    for (const [name, code, message] of cases) {
      expect(await app(["keygen", `vault:///transit/keys/${name}`, "--new-version"])).toMatchObject({
        code,
        stderr: expect.stringContaining(message),
      });
    }
  });

  test("says what the server refuses, without the token", async () => {
    const { code, stderr } = await app(["keygen", "vault:///transit/keys/denied"], token);
    expect(code).toBe(3);
    expect(stderr).toContain("the server answered 403: ");
    expect(stderr).not.toContain(token);
  });
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
