import { calculateJwkThumbprint } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createKeyFolder, RFC_KEY, type KeyFolder } from "./support/key-folder.ts";
import { runApp } from "./support/run-app.ts";
import { runCli } from "./support/run-cli.ts";
import { expectTranscript } from "./support/transcript.ts";

const { d: _private, ...jwk } = RFC_KEY;
let folder: KeyFolder;

beforeAll(async () => {
  folder = await createKeyFolder();
  await folder.addRfcKey("op.pem");
});
afterAll(() => folder[Symbol.asyncDispose]());

test("kid prints the thumbprint of a key that jose computes too, on a line", async () => {
  const kid = await calculateJwkThumbprint(jwk);
  const result = await runCli(["kid", "local:op.pem"], { cwd: folder.path });
  expect(result).toEqual({ code: 0, stdout: `${kid}\n`, stderr: "" });
});

test("kid --json prints the kid, the canonical URI and the public key", async () => {
  const { code, stdout } = await expectTranscript("kid", ["kid", "local:op.pem", "--json"], { cwd: folder.path });
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual({ kid: await calculateJwkThumbprint(jwk), uri: "local:op.pem", publicKey: jwk });
});

test("a URI of no backend is a mistake of usage, and is not printed, because it may hold a secret", async () => {
  const result = await runCli(["kid", "pkcs12:secret-1234", "--json"]);
  expect(result.code).toBe(2);
  expect(JSON.parse(result.stdout)).toMatchObject({ error: { code: "unknown_scheme" } });
  expect(result.stderr).toContain("Key URIs look like this: local:keys/op.pem");
  expect(result.stdout + result.stderr).not.toContain("secret-1234");
});

test.each([
  [["pkcs11:token=op;object=k?pin-value=secret-1234"], "Begin with a command. See signpost --help."],
  [["kid", "pkcs11:token=op;object=k", "pin-value=secret-1234"], "Too many arguments, expected 1."],
])("a key URI in the wrong place is not printed, because it may hold a PIN: %#", async (inputs, message) => {
  const { code, stdout, stderr } = await runApp(inputs);
  expect(code).toBe(2);
  expect(stderr).toContain(message);
  expect(stdout + stderr).not.toContain("secret-1234");
});

test("a file that is not there is named by its code", async () => {
  const { code, stdout, stderr } = await runApp(["kid", "local:away.pem"], { cwd: folder.path });
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain("ENOENT");
});
