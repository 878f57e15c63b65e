import { execFileSync } from "node:child_process";
import { createPublicKey } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { calculateJwkThumbprint } from "jose";
import { createKeyFolder, RFC_KEY, type KeyFolder } from "./support/key-folder.ts";
import { runApp } from "./support/run-app.ts";
import { runCli } from "./support/run-cli.ts";

const { d: _private, ...jwk } = RFC_KEY;
let folder: KeyFolder;

beforeAll(async () => {
  folder = await createKeyFolder();
  await folder.addRfcKey("op.pem");
});
afterAll(() => folder[Symbol.asyncDispose]());

function openssl(input: string | Uint8Array, ...args: readonly string[]): string {
  return execFileSync("openssl", ["req", "-noout", "-verify", ...args], { input, encoding: "utf8", stdio: "pipe" });
}

/** This process has another working folder. */
function inFolder(argument: string): string {
  return argument.replace(/^local:/, `local:${folder.path}/`);
}

const NAMES = ["--dns", "op.example", "--dns", "www.op.example", "--uri", "https://op.example", "--ip", "2001:db8::1"];

test("the built program prints a request that openssl verifies", async () => {
  const args = ["csr", "local:op.pem", "--subject", "CN=op.example,O=Example,C=DE", ...NAMES];
  const { code, stdout, stderr } = await runCli(args, { cwd: folder.path });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const text = openssl(stdout, "-text", "-nameopt", "RFC2253");
  expect(text).toContain("Subject: CN=op.example,O=Example,C=DE");
  expect(text).toContain("DNS:op.example, DNS:www.op.example, URI:https://op.example, IP Address:2001:DB8:0:0:0:0:0:1");
  expect(createPublicKey(openssl(stdout, "-pubkey")).export({ format: "jwk" })).toEqual(jwk);
});

test("--json prints the request with its key", async () => {
  const { code, stdout } = await runApp(["csr", inFolder("local:op.pem"), "--uri", "https://op.example", "--json"], {
    cwd: folder.path,
  });
  expect(code).toBe(0);
  const { pem, ...rest } = JSON.parse(stdout) as { pem: string };
  expect(rest).toEqual({ uri: inFolder("local:op.pem"), kid: await calculateJwkThumbprint(jwk), publicKey: jwk });
  expect(openssl(pem, "-text")).toMatch(/Subject Alternative Name: critical\s+URI:https:\/\/op\.example/);
});

test("--out writes a file once, in DER with --der, and --purpose asks for a purpose", async () => {
  const args = [
    "csr",
    inFolder("local:op.pem"),
    "--subject",
    "CN=op",
    "--purpose",
    "clientAuth",
    "--out",
    "op.der",
    "--der",
  ];
  const first = await runApp(args, { cwd: folder.path });
  expect(first).toEqual({ code: 0, stdout: "", stderr: "✓ wrote op.der\n" });
  const bytes = await readFile(join(folder.path, "op.der"));
  expect(openssl(bytes, "-inform", "DER", "-text")).toContain("TLS Web Client Authentication");
  const { mtimeMs } = await stat(join(folder.path, "op.der"));
  const second = await runApp([...args, "--json"], { cwd: folder.path });
  expect(second.code).toBe(2);
  expect(JSON.parse(second.stdout)).toMatchObject({ error: { code: "file_exists" } });
  expect((await stat(join(folder.path, "op.der"))).mtimeMs).toBe(mtimeMs);
});

test.each([
  [["csr", "local:op.pem"], "The request has no name"],
  [["csr", "local:op.pem", "--subject", "op.example"], "--subject: expected attributes like"],
  [["csr", "local:op.pem", "--subject", "C=Germany"], "--subject (C): expected at most 2 characters"],
  [["csr", "local:op.pem", "--dns", "münchen.example"], "--dns: expected A-labels"],
  [["csr", "local:op.pem", "--dns", "a.example", "--dns", "b_"], "--dns number 2: expected a domain name"],
  [["csr", "local:op.pem", "--uri", "op.example"], "--uri: expected an absolute URI"],
  [["csr", "local:op.pem", "--ip", "1.2.3"], "--ip: expected an IPv4 or IPv6 address"],
  [["csr", "local:op.pem", "--email", "ops"], "--email: expected an email address"],
  [["csr", "local:op.pem", "--dns", "a.example", "--purpose", "all"], "--purpose: expected one of serverAuth"],
  [["csr", "local:op.pem", "--dns", "a.example", "--der", "--json"], "--der goes with --json only"],
  [["csr", "local:op.pem", "--dns", "a.example", "--out", "no/op.csr"], "no/op.csr cannot be written (ENOENT)"],
  [["csr", "local:away.pem", "--dns", "a.example"], "ENOENT"],
  [["csr", "local:away.pem", "--dns", "a.example", "--out", "op.pem"], "op.pem exists, and is not replaced"],
])("%j is a mistake of usage, in the words of the command line", async (args, words) => {
  const { code, stdout, stderr } = await runApp(args.map(inFolder), { cwd: folder.path });
  expect({ code, stdout: stdout.includes("BEGIN") }).toEqual({ code: 2, stdout: false });
  expect(stderr).toContain(words);
});

test("too many names are a mistake of usage too", async () => {
  const names = Array.from({ length: 1001 }, (_, index) => ["--dns", `n${index}.example`]).flat();
  const { code, stderr } = await runApp(["csr", inFolder("local:op.pem"), ...names], { cwd: folder.path });
  expect(code).toBe(2);
  expect(stderr).toContain("--dns, --uri, --email and --ip: expected at most 1000 names");
});
