import { execFileSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
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

const SELF_SIGNED = ["cert", "self-signed", "local:op.pem"];

test("the built program prints a certificate that openssl verifies with itself", async () => {
  const args = [...SELF_SIGNED, "--subject", "CN=op.example,C=DE", "--uri", "https://op.example", "--days", "30"];
  const { code, stdout, stderr } = await runCli(args, { cwd: folder.path });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  await folder.write("op.crt", stdout);
  const verified = execFileSync("openssl", ["verify", "-x509_strict", "-CAfile", "op.crt", "op.crt"], {
    cwd: folder.path,
    encoding: "utf8",
  });
  expect(verified).toBe("op.crt: OK\n");
  const certificate = new X509Certificate(stdout);
  expect(certificate.publicKey.export({ format: "jwk" })).toEqual(jwk);
  expect([certificate.subject, certificate.issuer]).toEqual(["C=DE\nCN=op.example", "C=DE\nCN=op.example"]);
  expect(certificate.subjectAltName).toBe("URI:https://op.example");
  const days = (Date.parse(certificate.validTo) - Date.parse(certificate.validFrom)) / 86_400_000;
  expect(Math.round(days)).toBe(30);
});

test("--out writes a file, in DER with --der, and --json tells the key", async () => {
  const uri = `local:${join(folder.path, "op.pem")}`;
  const args = ["cert", "self-signed", uri, "--subject", "CN=op", "--out", "op.der", "--der", "--json"];
  const { code, stdout } = await runApp(args, { cwd: folder.path });
  expect(code).toBe(0);
  const { pem, ...rest } = JSON.parse(stdout) as { pem: string };
  expect(rest).toMatchObject({ uri, publicKey: jwk, file: "op.der" });
  expect(new X509Certificate(pem).raw).toEqual(await readFile(join(folder.path, "op.der")));
  expect(await runApp(args, { cwd: folder.path })).toMatchObject({ code: 2 });
});

test.each([
  [[], "The certificate has no subject"],
  [["--uri", "https://op.example"], "The certificate has no subject"],
  [["--subject", "op.example"], "--subject: expected attributes like"],
  [["--subject", "CN=op", "--dns", "b_"], "--dns: expected a domain name"],
  [["--subject", "CN=op", "--days", "0"], "--days: expected a whole number from 1 to 36525"],
  [["--subject", "CN=op", "--days", "many"], "many"],
])("%j is a mistake of usage, in the words of the command line", async (args, words) => {
  const { code, stdout, stderr } = await runApp([...SELF_SIGNED, ...args], { cwd: folder.path });
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain(words);
});
