import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { startFakeVaultTransit } from "@signpost/test-backends/fake-vault-transit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createKeyFolder, type KeyFolder } from "../support/key-folder.ts";
import { runApp } from "../support/run-app.ts";
import { runCli, type CliResult } from "../support/run-cli.ts";
import { startReady } from "./support/serve.ts";

const ISSUER = "https://op.example";
let folder: KeyFolder;

beforeEach(async () => {
  folder = await createKeyFolder();
  await folder.addKey("op.pem");
  await folder.write("signpost.config.json", { issuer: ISSUER, keys: [{ signer: "local:op.pem" }] });
});
afterEach(() => folder[Symbol.asyncDispose]());

/** In this process, for what ends by itself. */
const serve = (...args: readonly string[]): Promise<CliResult> => runApp(["serve", ...args], { cwd: folder.path });

describe("a port that cannot be used ends it before a key is opened", () => {
  test.each(["--port", "--admin-port"])("%s in use", async (flag) => {
    await rm(join(folder.path, "op.pem"));
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const free = flag === "--port" ? "--admin-port" : "--port";
    const result = await serve(flag, String(port), free, "0");
    other.close();
    expect(result).toEqual({
      code: 2,
      stdout: "",
      stderr: [
        `error ${flag}: another program uses port ${port}`,
        `hint  Stop that program, or choose another port with ${flag}. ${flag} 0 takes a free one`,
        "",
      ].join("\n"),
    });
  });

  test("the same for both", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    other.close();
    expect(await serve("--port", String(port), "--admin-port", String(port))).toEqual({
      code: 2,
      stdout: "",
      stderr: [
        "error --admin-port: it is the port of the key set too",
        "hint  Choose another port with --port or --admin-port",
        "",
      ].join("\n"),
    });
  });

  test("an address that is not of this machine", async () => {
    const { code, stderr } = await serve("--admin-host", "192.0.2.1", "--port", "0", "--admin-port", "0");
    expect(code).toBe(2);
    expect(stderr).toMatch(/^error --admin-host: cannot listen on "192\.0\.2\.1" \(EADDRNOTAVAIL\)\nhint /);
  });
});

describe("a mistake in the configuration ends it before a port is taken", () => {
  const entry = { signer: "local:op.pem" };
  test.each([
    [
      "a name",
      { issuer: ISSUER, keys: [{ keyid: "a", ...entry }] },
      "keys[0].keyid: unknown option; did you mean keyId?",
    ],
    ["an issuer", { issuer: "http://op.example", keys: [entry] }, "issuer: "],
    ["no entry", { issuer: ISSUER, keys: [] }, "keys: expected at least one signing entry"],
    ["neither key", { issuer: ISSUER, keys: [{ keyId: "a" }] }, "keys[0]: expected either a signer or a publicKey"],
    [
      "both keys",
      { issuer: ISSUER, keys: [{ ...entry, publicKey: "x" }] },
      "keys[0]: expected either a signer or a publicKey",
    ],
    [
      "a scheme",
      { issuer: ISSUER, keys: [{ signer: "awskm:x" }] },
      "keys[0].signer: The key URI begins with the scheme of no backend",
    ],
    ["a public key", { issuer: ISSUER, keys: [{ publicKey: "x" }] }, "keys[0].publicKey: "],
    [
      "a date",
      {
        issuer: ISSUER,
        keys: { maxTokenLifetimeSeconds: 60, entries: [{ ...entry, announcedFrom: "soon", activeFrom: "soon" }] },
      },
      "keys.entries[0].announcedFrom: ",
    ],
  ])("%s", async (_name, content, message) => {
    await folder.write("signpost.config.json", content);
    const { code, stdout, stderr } = await runApp(["serve", "--port", "0", "--admin-port", "0"], { cwd: folder.path });
    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining(`signpost.config.json: ${message}`),
    });
  });
});

test("a key that cannot be opened ends it, and --json says why", async () => {
  await rm(join(folder.path, "op.pem"));
  const args = ["serve", "--port", "0", "--admin-port", "0", "--json"];
  const { code, stdout } = await runCli(args, { cwd: folder.path });
  expect(code).toBe(2);
  const [addresses = "", ...rest] = stdout.split("\n");
  expect(JSON.parse(addresses)).toMatchObject({ keySet: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/jwks$/) });
  expect(JSON.parse(rest.join("\n"))).toMatchObject({
    error: { message: expect.stringContaining("signpost.config.json: keys[0].signer: ") },
  });
});

test("a key that is not there ends it with exit code 3, because waiting would not help", async () => {
  await using vault = await startFakeVaultTransit();
  await folder.write("vault.json", {
    issuer: ISSUER,
    keys: [{ signer: "vault:///transit/keys/missing" }],
    adapters: { vault: { address: vault.address, openDeadlineMs: 300 } },
  });
  const args = ["serve", "--config", "vault.json", "--port", "0", "--admin-port", "0"];
  const result = await runCli(args, { cwd: folder.path, env: { VAULT_TOKEN: vault.token } });
  expect(result).toMatchObject({ code: 3, stderr: expect.stringMatching(/^error vault\.json: keys\[0\]\.signer: /) });
});

test("only public keys are needed: without a signer and without credentials", async () => {
  const publicKey = await folder.addKey("other.pem");
  const entries = [{ publicKey, announcedFrom: "2026-01-01T00:00:00Z", activeFrom: "2026-01-01T00:00:00Z" }];
  const lists = [[{ publicKey }], { maxTokenLifetimeSeconds: 60, entries }];
  await Promise.all(
    lists.map(async (keys, index) => {
      await folder.write(`public-${index}.json`, { issuer: ISSUER, keys });
      await using served = await startReady(["--config", `public-${index}.json`], { cwd: folder.path });
      expect(await (await fetch(served.keySet)).json()).toMatchObject({ keys: [{ x: publicKey.x, y: publicKey.y }] });
    }),
  );
});
