import { execFile } from "node:child_process";
import { createHash, type JsonWebKey } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { createJwksEndpoint, openSigner } from "@signpost/core";
import { local } from "@signpost/local";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createKeyFolder, type KeyFolder } from "./support/key-folder.ts";
import { runApp } from "./support/run-app.ts";
import { runCli, type CliResult } from "./support/run-cli.ts";
import { expectTranscript } from "./support/transcript.ts";

let folder: KeyFolder;
let second: JsonWebKey;

beforeAll(async () => {
  folder = await createKeyFolder();
  await folder.addKey("op.pem");
  second = await folder.addKey("op-0.pem");
  await folder.write("signpost.config.json", {
    $schema: "./config.schema.json",
    issuer: "https://op.example/tenant",
    mountPrefix: "/oidc",
    endpoints: { jwks: "/keys" },
    keys: [
      { keyId: "sig-1", signer: "local:op.pem" },
      { keyId: "sig-0", publicKey: second },
    ],
  });
});
afterAll(() => folder[Symbol.asyncDispose]());

/** The document of an endpoint with the same keys. */
async function served(): Promise<string> {
  const signer = await openSigner(`local:${join(folder.path, "op.pem")}`, [local()]);
  const keys = [
    { keyId: "sig-1", signer },
    { keyId: "sig-0", publicKey: { ...second } },
  ];
  const { body } = createJwksEndpoint({ issuer: "https://op.example", keys }).respond("GET");
  return Buffer.from(body ?? []).toString();
}

test("jwks prints the bytes that the endpoint serves, and nothing else", async () => {
  const result = await runCli(["jwks"], { cwd: folder.path });
  expect(result).toEqual({ code: 0, stdout: await served(), stderr: "" });
});

test("--etag prints the quoted hash of these bytes", async () => {
  const hash = createHash("sha256")
    .update(await served())
    .digest("hex");
  const result = await runCli(["jwks", "--etag"], { cwd: folder.path });
  expect(result).toEqual({ code: 0, stdout: `"${hash}"\n`, stderr: "" });
});

test("--json prints the address, the headers, the keys with their roles, and the document", async () => {
  const { code, stdout } = await runCli(["jwks", "--json"], { cwd: folder.path });
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual({
    jwksUri: "https://op.example/tenant/oidc/keys",
    etag: expect.stringMatching(/^"[\da-f]{64}"$/),
    cacheControl: "public, max-age=3600, stale-while-revalidate=3600",
    contentType: "application/jwk-set+json",
    keys: [
      { kid: "sig-1", role: "active", alg: "ES256", use: "sig" },
      { kid: "sig-0", role: "retiring", alg: "ES256", use: "sig" },
    ],
    nextChange: null,
    document: await served(),
  });
});

test("a schedule publishes what its entries say now, with the short lifetime of a rotation and the next change", async () => {
  const hours = (count: number): string => new Date(Date.now() + count * 3_600_000).toISOString();
  const changed = hours(5);
  await folder.write("schedule.json", {
    issuer: "https://op.example",
    keys: {
      maxTokenLifetimeSeconds: 3600,
      entries: [
        { keyId: "old", signer: "local:op-0.pem", announcedFrom: hours(-100), activeFrom: hours(-90) },
        { keyId: "new", signer: "local:op.pem", announcedFrom: hours(-1), activeFrom: changed },
      ],
    },
  });
  const { stdout } = await runCli(["jwks", "--json", "--config", "schedule.json"], { cwd: folder.path });
  const { keys, nextChange } = JSON.parse(stdout);
  expect(keys.map(({ kid, role }: Record<string, string>) => `${kid} ${role}`)).toEqual([
    "old active",
    "new announced",
  ]);
  expect(nextChange).toBe(changed);
});

test("--out writes the document at its path, and the header rules of static hosts", async () => {
  const { code, stdout } = await expectTranscript("jwks", ["jwks", "--out", "site"], { cwd: folder.path });
  expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
  const site = join(folder.path, "site");
  const files = await readdir(site, { recursive: true });
  expect(files.toSorted()).toEqual([
    "gcs.sh",
    "public",
    "public/_headers",
    "public/tenant",
    "public/tenant/oidc",
    "public/tenant/oidc/keys",
    "s3.sh",
  ]);
  expect(await readFile(join(site, "public/tenant/oidc/keys"), "utf8")).toBe(await served());
  const rules = await readFile(join(site, "public/_headers"), "utf8");
  const sha256 = createHash("sha256")
    .update(await served())
    .digest("hex");
  expect(rules.replace(sha256, "HASH")).toMatchInlineSnapshot(`
    "# Written by signpost jwks. Changes are lost.
    # Document with the SHA-256 HASH
    /tenant/oidc/keys
      Content-Type: application/jwk-set+json
      Cache-Control: public, max-age=3600, stale-while-revalidate=3600
    "
  `);
});

test.each([
  ["s3.sh", "aws", ["s3", "cp", "PUBLIC/tenant/oidc/keys", "s3://bucket/tenant/oidc/keys"]],
  ["gcs.sh", "gcloud", ["storage", "cp", "PUBLIC/tenant/oidc/keys", "gs://bucket/tenant/oidc/keys"]],
])("%s uploads with the type and the lifetime of the endpoint", async (script, program, expected) => {
  await runCli(["jwks", "--out", "upload"], { cwd: folder.path });
  const bin = join(folder.path, `bin-${program}`);
  await mkdir(bin);
  // Prints its arguments, one a line.
  await writeFile(join(bin, program), '#!/bin/sh\nprintf "%s\\n" "$@"\n', { mode: 0o755 });
  const path = join(folder.path, "upload", script);
  const env = { ...process.env, PATH: `${bin}:${process.env["PATH"]}` };
  const { stdout } = await promisify(execFile)("sh", [path, "bucket"], { env });
  const [type, cache] = ["application/jwk-set+json", "public, max-age=3600, stale-while-revalidate=3600"];
  const args = stdout
    .trim()
    .replace(join(folder.path, "upload", "public"), "PUBLIC")
    .replaceAll("=", "\n")
    .split("\n");
  const headers = ["--content-type", type, "--cache-control", cache].flatMap((part) => part.split("="));
  expect(args).toEqual([...expected, ...headers]);
  await expect(promisify(execFile)("sh", [path], { env })).rejects.toMatchObject({ code: 2 });
});

test("--out replaces its own files, and refuses to replace any other", async () => {
  expect(await runCli(["jwks", "--out", "own"], { cwd: folder.path })).toMatchObject({ code: 0 });
  expect(await runCli(["jwks", "--out", "own"], { cwd: folder.path })).toMatchObject({ code: 0 });
  await mkdir(join(folder.path, "other/public"), { recursive: true });
  await folder.write("other/public/_headers", "/*\n  X-Frame-Options: DENY\n");
  const { code, stderr } = await runCli(["jwks", "--out", "other"], { cwd: folder.path });
  expect(code).toBe(2);
  expect(stderr).toContain("public/_headers exists, and signpost did not write it");
  expect(await readdir(join(folder.path, "other"))).toEqual(["public"]);
});

test("--out replaces a key set only if it is the one that it wrote", async () => {
  // Another key each time.
  await folder.write("one.json", { issuer: "https://op.example", keys: [{ keyId: "a", signer: "local:" }] });
  const write = (): Promise<CliResult> =>
    runApp(["jwks", "--out", "mine", "--config", "one.json"], { cwd: folder.path });
  const read = (): Promise<string> => readFile(join(folder.path, "mine/public/jwks"), "utf8");
  await mkdir(join(folder.path, "mine/public"), { recursive: true });
  await folder.write("mine/public/jwks", '{"keys":[]}');
  expect(await write()).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("public/jwks exists, and signpost did not write it"),
  });
  expect(await read()).toBe('{"keys":[]}');

  await rm(join(folder.path, "mine"), { recursive: true });
  expect(await write()).toMatchObject({ code: 0 });
  const first = await read();
  expect(await write()).toMatchObject({ code: 0 });
  expect(await read()).not.toBe(first);

  await folder.write("mine/public/jwks", first);
  expect(await write()).toMatchObject({ code: 2 });
  expect(await read()).toBe(first);
});

test("--etag with --out or --json is a mistake of usage", async () => {
  expect(await runCli(["jwks", "--etag", "--json"], { cwd: folder.path })).toMatchObject({ code: 2 });
});
