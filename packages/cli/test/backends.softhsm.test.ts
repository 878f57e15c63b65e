import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startSoftHsm, type SoftHsm } from "@signpost/test-backends/softhsm";
import { calculateJwkThumbprint, importJWK, jwtVerify } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectMeasured } from "./support/bench-report.ts";
import { createKeyFolder, type KeyFolder } from "./support/key-folder.ts";
import { runOnTerminal } from "./support/terminal.ts";
import { runCli, type CliOptions, type CliResult } from "./support/run-cli.ts";

let hsm: SoftHsm;
let folder: KeyFolder;
/** The URI of a key, without the PIN. */
const uriOf = (label: string): string => `pkcs11:token=${hsm.tokenLabel};object=${label}?module-path=${hsm.module}`;
const withPin = (uri: string): string => `${uri}&pin-source=env:OP_PIN`;

function cli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  return runCli(args, { cwd: folder.path, ...options, env: { ...hsm.env, OP_PIN: hsm.pin, ...options.env } });
}

beforeAll(async () => {
  [hsm, folder] = await Promise.all([startSoftHsm({ label: "op" }), createKeyFolder()]);
  await hsm.generateKey({ label: "sig-1", id: "01" });
  await folder.write("pin", hsm.pin);
});
afterAll(async () => {
  await hsm.stop();
  await folder[Symbol.asyncDispose]();
});

describe("keygen", () => {
  let entry: { readonly keyId: string; readonly signer: string };

  test("makes a key pair that only signs, is sensitive and not extractable, and prints an entry that opens it", async () => {
    const { code, stdout, stderr } = await cli(["keygen", withPin(uriOf("sig-2027")), "--json"]);
    expect(code).toBe(0);
    const made = JSON.parse(stdout);
    entry = made.entry;
    expect(stderr).toBe(`✓ made ${entry.signer}\n✓ signed and verified a probe\n`);
    expect(entry.keyId).toBe(await calculateJwkThumbprint(made.publicKey));
    // Seen by a tool that is not ours.
    const objects = await hsm.pkcs11Tool("--list-objects", "--type", "privkey", "--label", "sig-2027");
    expect(objects).toMatch(/Usage:\s+sign\n/);
    expect(objects).toMatch(/Access:\s+sensitive, always sensitive, never extractable, local/);
  });

  test("names the key by an id too, and doctor finds nothing to do", async () => {
    expect(entry.signer).toMatch(/;id=(?:%[\da-f]{2}){8}\?/);
    const { code, stdout } = await cli(["doctor", entry.signer, "--samples", "2", "--json"]);
    const [{ findings }] = JSON.parse(stdout).keys;
    expect(findings.map(({ check, level, text }: Record<string, string>) => `${check} ${level} ${text}`)).toEqual([
      expect.stringMatching(/^open ok/),
      "token ok no wrong PIN since the last login",
      "probe ok signs, and the signature verifies with the public key",
      expect.stringMatching(/^latency note 2 signatures/),
      "key ok sensitive and not extractable",
      "key ok signs only",
    ]);
    expect(code).toBe(0);
  });

  test("never replaces a key", async () => {
    expect(await cli(["keygen", withPin(uriOf("sig-1"))])).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining("A key with this label or id exists, and is not replaced"),
    });
  });

  test("refuses a PIN in the wrong part of the URI before the key is made, and does not print it", async () => {
    const uri = withPin(uriOf("leaky")).replace("?", ";pin-value=987654?");
    const { code, stdout, stderr } = await cli(["keygen", uri]);
    expect({ code, stdout, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining("A PIN in a URI") });
    expect(stderr).not.toContain("987654");
    expect(await hsm.pkcs11Tool("--list-objects", "--type", "pubkey")).not.toContain("leaky");
  });

  test("needs a token that is there", async () => {
    const { code, stderr } = await cli(["keygen", withPin(uriOf("a").replace("token=op", "token=away"))]);
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: expect.stringMatching(/^error no token matches token "away"; the module has "op" \(serial /),
    });
  });

  test("says where SoftHSM has its configuration from, where it shows no token", async () => {
    const env = { SOFTHSM2_CONF: join(folder.path, "missing.conf") };
    const { code, stderr } = await cli(["keygen", withPin(uriOf("a"))], { env });
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining("SOFTHSM2_CONF") });
  });
});

test("a PIN from a file, a variable or the configuration opens the key, and is never printed", async () => {
  const configured = { pkcs11: { module: hsm.module, pin: "env:OP_PIN" } };
  await folder.write("adapters.json", { issuer: "https://op.example", keys: [], adapters: configured });
  const results = await Promise.all([
    cli(["kid", `${uriOf("sig-1")}&pin-source=file:${folder.path}/pin`]),
    cli(["kid", withPin(uriOf("sig-1"))]),
    cli(["kid", `pkcs11:token=op;object=sig-1`, "--config", "adapters.json"]),
  ]);
  const [{ stdout: kid }] = results;
  expect(kid).toMatch(/^[\w-]{43}\n$/);
  expect(results).toEqual(results.map(() => ({ code: 0, stdout: kid, stderr: "" })));
});

test("without a PIN and without a terminal, the command says what is missing", async () => {
  const { code, stderr } = await cli(["kid", uriOf("sig-1")]);
  expect(code).toBe(2);
  expect(stderr).toContain("pin-source");
  expect(await cli(["kid", withPin(uriOf("sig-1"))], { env: { OP_PIN: "" } })).toMatchObject({
    code: 2,
    stderr: "error The variable OP_PIN is not set, and should hold a secret\n",
  });
});

test.each([
  ["env:MISSING_PIN", "thread", "adapters.pkcs11.pin: The variable MISSING_PIN is not set, and should hold a secret"],
  ["file:away", "process", "adapters.pkcs11.pin: The file of a secret cannot be read (ENOENT)"],
])("a PIN that %s of the configuration does not give is explained, isolation %s", async (pin, isolation, problem) => {
  const adapters = { pkcs11: { module: hsm.module, pin, isolation } };
  await folder.write("missing.json", { issuer: "https://op.example", keys: [], adapters });
  const { code, stderr } = await cli(["kid", "pkcs11:token=op;object=sig-1", "--config", "missing.json"]);
  expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining(problem) });
  expect(stderr).toContain('token "op"');
});

test.each([
  ["the variable OP_PIN", (): readonly string[] => [withPin(uriOf("sig-1"))]],
  [
    "adapters.pkcs11.pin (file:wrong)",
    (): readonly string[] => ["pkcs11:token=op;object=sig-1", "--config", "wrong.json"],
  ],
])("a refused PIN is said to come from %s, without advice for programs", async (place, args) => {
  await folder.write("wrong", "not-the-pin");
  const adapters = { pkcs11: { module: hsm.module, pin: "file:wrong" } };
  await folder.write("wrong.json", { issuer: "https://op.example", keys: [], adapters });
  const { code, stderr } = await cli(["kid", ...args()], { env: { OP_PIN: "not-the-pin" } });
  expect({ code, stderr }).toEqual({
    code: 3,
    stderr: expect.stringContaining(`refused the PIN from ${place} (C_Login`),
  });
  expect(stderr).toContain("Correct the PIN at its source\n");
  expect(stderr).not.toContain("not-the-pin");
});

test("a PIN that is not UTF-8 is not sent to the token", async () => {
  await writeFile(join(folder.path, "latin1"), Buffer.from("p\u00EFn\n", "latin1"));
  const adapters = { pkcs11: { module: hsm.module, pin: "file:latin1" } };
  await folder.write("latin1.json", { issuer: "https://op.example", keys: [], adapters });
  const { code, stderr } = await cli(["kid", "pkcs11:token=op;object=sig-1", "--config", "latin1.json"]);
  expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining("The file of a secret is not UTF-8") });
});

describe("at a terminal, the PIN is asked for", () => {
  const question = "PIN of token=op";

  test("and not shown", async () => {
    const answer = { question, answer: `${hsm.pin}\r` };
    const { code, shown } = await runOnTerminal(["kid", uriOf("sig-1")], answer, { cwd: folder.path, env: hsm.env });
    expect({ code, shown }).toEqual({ code: 0, shown: expect.stringMatching(/[\w-]{43}\r\n$/) });
    expect(shown).not.toContain(hsm.pin);
  });

  test("also where the configuration says prompt:", async () => {
    const adapters = { pkcs11: { module: hsm.module, pin: "prompt:" } };
    await folder.write("prompt.json", { issuer: "https://op.example", keys: [], adapters });
    const args = ["kid", "pkcs11:token=op;object=sig-1", "--config", "prompt.json"];
    const typed = { question: "Secret", answer: `${hsm.pin}\r` };
    const { code, shown } = await runOnTerminal(args, typed, { cwd: folder.path, env: hsm.env });
    expect(code).toBe(0);
    expect(shown).not.toContain(hsm.pin);
  });

  test("and Ctrl-C ends the command", async () => {
    const answer = { question, answer: "12\u0003" };
    const { code, shown } = await runOnTerminal(["kid", uriOf("sig-1")], answer, { cwd: folder.path, env: hsm.env });
    expect(code).toBe(130);
    expect(shown).not.toContain("error");
  });
});

test("a token is signed in the module, and jose verifies it", async () => {
  const stdin = '{"sub":"test","aud":"client-1"}';
  const { code, stdout } = await cli(["sign", withPin(uriOf("sig-1")), "--key-id", "sig-1"], { stdin });
  expect(code).toBe(0);
  const { publicKey } = JSON.parse((await cli(["kid", withPin(uriOf("sig-1")), "--json"])).stdout);
  const { protectedHeader } = await jwtVerify(stdout.trim(), await importJWK(publicKey, "ES256"));
  expect(protectedHeader.kid).toBe("sig-1");
});

test("bench measures the key against the bare module in turn, with no question", async () => {
  const args = ["bench", withPin(uriOf("sig-1")), "--raw", "--calls", "20", "--concurrency", "1,3", "--json"];
  const { code, stdout, stderr } = await cli(args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expectMeasured(stdout, { name: "bare module", calls: 20 });
});

test("an extractable key that also derives is found", async () => {
  await hsm.pkcs11Tool(
    "--keypairgen",
    "--key-type",
    "EC:prime256v1",
    "--label",
    "loose",
    "--id",
    "0f",
    "--usage-sign",
    "--usage-derive",
    "--extractable",
  );
  const { code, stdout } = await cli(["doctor", withPin(uriOf("loose")), "--samples", "0"]);
  expect(code).toBe(1);
  expect(stdout).toContain("extractable: its private half can leave the token");
  expect(stdout).toContain("CKA_DERIVE");
});

test("a wrong PIN is reported for each key but tried once, and shows in the flags of the token afterwards", async () => {
  const token = await hsm.addToken({ label: "locking" });
  const uri = (label: string): string => uriOf(label).replace("token=op", "token=locking");
  await token.generateKey({ label: "a", id: "0a" });
  await token.generateKey({ label: "b", id: "0b" });
  await folder.write("wrong.json", {
    issuer: "http://127.0.0.1:9",
    keys: [{ signer: withPin(uri("a")) }, { signer: withPin(uri("b")) }],
  });
  const { code, stdout } = await cli(["doctor", "--config", "wrong.json"], { env: { OP_PIN: "00000000" } });
  expect(code).toBe(1);
  expect(stdout.match(/pin_incorrect/g)).toHaveLength(2);
  expect(stdout.match(/not tried, because this PIN was wrong for another key of the token/g)).toHaveLength(1);
  expect(stdout).toContain("→ Check the PIN before you try again");
  expect(stdout).not.toContain("00000000");
  expect(await cli(["doctor", withPin(uri("a")), "--samples", "0"], { env: { OP_PIN: token.pin } })).toMatchObject({
    stdout: expect.stringContaining("a wrong PIN was given since the last login"),
  });
});
