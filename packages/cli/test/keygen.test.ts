import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, stat } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { createPrivateKey } from "node:crypto";
import { calculateJwkThumbprint } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createKeyFolder, type KeyFolder } from "./support/key-folder.ts";
import { runApp } from "./support/run-app.ts";
import { BIN, ended, runCli, startCli } from "./support/run-cli.ts";
import { expectTranscript } from "./support/transcript.ts";

let folder: KeyFolder;
beforeAll(async () => {
  folder = await createKeyFolder();
});
afterAll(() => folder[Symbol.asyncDispose]());

test("a key in a file is readable for its owner only, and its entry names it", async () => {
  const { code, stdout } = await expectTranscript("keygen", ["keygen", "local:keys/op.pem", "--key-id", "sig-2027"], {
    cwd: folder.path,
    messagesFirst: true,
  });
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual({ keyId: "sig-2027", signer: "local:keys/op.pem" });
  const path = join(folder.path, "keys/op.pem");
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(createPrivateKey(await readFile(path)).asymmetricKeyDetails).toEqual({ namedCurve: "prime256v1" });
});

test("the kid is the thumbprint by default, and --json prints the public key", async () => {
  const { stdout } = await runCli(["keygen", "local:keys/json.pem", "--json"], { cwd: folder.path });
  const { entry, publicKey } = JSON.parse(stdout);
  expect(entry.keyId).toBe(await calculateJwkThumbprint(publicKey));
});

test("a file is never replaced", async () => {
  await folder.write("mine.pem", "mine");
  const { code, stderr } = await runCli(["keygen", "local:mine.pem"], { cwd: folder.path });
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: "error The file exists, and is not replaced\nhint  Name another file\n",
  });
  expect(await readFile(join(folder.path, "mine.pem"), "utf8")).toBe("mine");
});

test("what a full disk leaves of a file is removed", async () => {
  const full = join(folder.path, "full.pem");
  // A limit on the size of files does to a write what a full disk does.
  const child = spawn("sh", ["-c", 'ulimit -f 0; exec "$0" "$1" keygen "local:$2"', process.execPath, BIN, full]);
  const [stderr] = await Promise.all([text(child.stderr), once(child, "close")]);
  expect({ code: child.exitCode, stderr }).toEqual({ code: 2, stderr: "error The file cannot be written (EFBIG)\n" });
  await expect(stat(full)).rejects.toThrow("ENOENT");
});

test("a mistake in the options of the adapter is found before a key is made", async () => {
  const adapters = { awskms: { regoin: "eu-west-1" } };
  await folder.write("adapters.json", { issuer: "https://op.example", keys: [], adapters });
  const args = ["keygen", "awskms://127.0.0.1:9/alias/op?region=eu-west-1", "--config", "adapters.json"];
  const { code, stderr } = await runCli(args, { cwd: folder.path });
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: "error adapters.awskms: regoin: unknown option; did you mean region?\n",
  });
});

test.each([
  ["local:", "names no file"],
  ["vault:///transit/keys/op?version=1", "Expected a key without a version"],
  ["vault:///transit/keys/op", "There is no address or no token"],
  ["azurekms:///op.vault.azure.net/keys/op/0123", "Expected a key without a version"],
  ["azurekms:///op.vault.azure.net/keys/o_p", "letters, digits and hyphens only"],
  ["awskms:///1234", "AWS chooses the id"],
  ["awskms:///alias/op?regio=eu-west-1", "The names are region, scheme"],
  ["awskms:///alias/op?region=eu-west-1&region=us-east-1", "a name that is not known, or one twice"],
  ["awskms://user:secret-1234@localhost/alias/op", "a host that is not one"],
  ["pkcs11:token=op;object=a;serail=1?pin-source=env:A", "The path of the URI has a name that is not known"],
  ["pkcs11:token=op;object=a?module=secret-1234", "The query of the URI has a name that is not known"],
  ["gcpkms://projects/p", "Expected a key without a version"],
  ["pkcs11:object=a", "module or its binding was not found"],
  ["pkcs11:object=a?pin-value=1234", "Use pin-source=file:PATH instead of pin-value"],
  ["pkcs11:token=op;object=a?module-path=/m.so&pin-source=file:pin", "file: and an absolute path"],
  ["pkcs11:token=op;object=a;type=public?module-path=/m.so&pin-source=file:/pin", "type: expected private"],
  ["pkcs11:token=op;object=ä?module-path=/m.so&pin-source=file:/pin", "percent-encode every character"],
  ["pkcs11:token=op;object=a%2Cpin%2Dvalue=secret-1234?module-path=/m.so&pin-source=file:/pin", "contains pin-value="],
  ["local:a.pem --new-version", "--new-version is for Google Cloud KMS, Vault and Azure"],
  ["vault:///transit/keys/op --protection hsm", "--protection is for Google Cloud KMS and Azure"],
])("%s is a mistake of usage", async (line, message) => {
  const { code, stdout, stderr } = await runApp(["keygen", ...line.split(" ")], { cwd: folder.path });
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain(message);
  expect(stderr).not.toContain("secret-1234");
});

test.each([
  ["awskms://198.51.100.1:4566/alias/op?region=eu-west-1&scheme=http", {}],
  ["awskms:///alias/op?region=eu-west-1", { AWS_ENDPOINT_URL_KMS: "http://198.51.100.1:4566" }],
  ["awskms:///?region=eu-west-1", { AWS_ENDPOINT_URL: "http://198.51.100.1:4566" }],
])("no key is made at an endpoint without TLS: %s, %j", async (uri, endpoint) => {
  const env = { AWS_ACCESS_KEY_ID: "test", AWS_SECRET_ACCESS_KEY: "test", ...endpoint };
  expect(await runCli(["keygen", uri], { cwd: folder.path, env })).toMatchObject({
    code: 2,
    stdout: "",
    stderr: expect.stringMatching(/^error [^\n]*expected https:[^\n]*, got http:\/\/198.51.100.1:4566[^\n]*\n$/),
  });
});

test.each([
  ["http://198.51.100.1:8200", "vault:///transit/keys/op", "VAULT_ADDR: expected https:"],
  ["http://127.0.0.1:9", "vault:///transit/../sys/keys/op", "expected the path of a mount"],
  ["http://127.0.0.1:9", "vault:///transit/keys/o%20p", "expected the name of a Transit key"],
  ["https://127.0.0.1:9/sub", "vault:///transit/keys/op", "VAULT_ADDR: expected https:"],
])("the token of Vault goes to no server that the adapter refuses: %s, %s", async (address, uri, message) => {
  const env = { VAULT_ADDR: address, VAULT_TOKEN: "secret-1234" };
  const { code, stdout, stderr } = await runCli(["keygen", uri], { cwd: folder.path, env });
  expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: "", stderr: expect.stringContaining(message) });
  expect(stderr).not.toContain("secret-1234");
});

describe("a server that does not say whether it made the key", () => {
  let server: Server;
  let env: NodeJS.ProcessEnv;
  let made: (socket: Socket) => void;
  beforeAll(async () => {
    server = createServer((request, response) => {
      if (request.method === "POST") return made(request.socket);
      response.writeHead(404, { "content-type": "application/json" }).end('{"errors":[]}');
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    env = { VAULT_ADDR: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, VAULT_TOKEN: "token" };
  });
  afterAll(() => server.close());
  const args = ["keygen", "vault:///transit/keys/op"];

  test("is a failure, and the key may be there", async () => {
    made = (socket) => socket.destroy();
    expect(await runCli(args, { cwd: folder.path, env })).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("The key may have been made: look in the backend before you try again"),
    });
  });

  test("is left behind by Ctrl-C with a word", async () => {
    const child = startCli(args, { cwd: folder.path, env });
    const stderr = text(child.stderr);
    made = () => void child.kill("SIGINT");
    await ended(child);
    expect({ code: child.exitCode, stderr: await stderr }).toEqual({
      code: 130,
      stderr: "! The key op, or another version of it, may have been made in transit\n",
    });
  });
});

test("a key in Azure needs a credential", async () => {
  const { code, stderr } = await runCli(["keygen", "azurekms:///op.vault.azure.net/keys/op"], {
    cwd: folder.path,
    // A runner of tests may show packages to its children.
    env: { NODE_PATH: "" },
  });
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: "error @azure/identity is not installed\nhint  npm install @azure/identity\n",
  });
});

test("Google credentials that cannot be read are a failure of the call, without a stack", async () => {
  const env = { GOOGLE_APPLICATION_CREDENTIALS: join(folder.path, "away.json") };
  const uri = "gcpkms://projects/p/locations/l/keyRings/r/cryptoKeys/op";
  const { code, stderr } = await runCli(["keygen", uri], { cwd: folder.path, env });
  expect(code).toBe(3);
  expect(stderr).toMatch(
    /^error [^\n]*no usable Google credentials were found: the file [^\n]* is missing\nhint [^\n]*\n$/,
  );
});
