import { cp, mkdir, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { importPackage } from "../src/keys/import-package.ts";
import { createKeyFolder, type KeyFolder } from "./support/key-folder.ts";

const PACKAGE = fileURLToPath(new URL("../", import.meta.url));
const manifest = createRequire(import.meta.url)("../package.json") as { dependencies: Record<string, string> };

/** The program as npx installs it: with its dependencies, and without any adapter. */
let alone: KeyFolder;
/** A folder in which a person works. */
let work: KeyFolder;

beforeAll(async () => {
  [alone, work] = await Promise.all([createKeyFolder(), createKeyFolder()]);
  const modules = join(alone.path, "node_modules");
  await mkdir(join(modules, "@signpost/cli"), { recursive: true });
  await cp(join(PACKAGE, "dist"), join(modules, "@signpost/cli/dist"), { recursive: true });
  await cp(join(PACKAGE, "package.json"), join(modules, "@signpost/cli/package.json"));
  await Promise.all(Object.keys(manifest.dependencies).map((name) => link(modules, name)));
  await work.addRfcKey("op.pem");
});
afterAll(async () => {
  await alone[Symbol.asyncDispose]();
  await work[Symbol.asyncDispose]();
});

async function link(modules: string, name: string): Promise<void> {
  await mkdir(dirname(join(modules, name)), { recursive: true });
  await symlink(join(PACKAGE, "node_modules", name), join(modules, name));
}

async function run(...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  // The runner's own packages would be found through it.
  const { NODE_PATH: _none, ...env } = process.env;
  const bin = join(alone.path, "node_modules/@signpost/cli/dist/bin.js");
  return promisify(execFile)(process.execPath, [bin, ...args], { cwd: work.path, env }).then(
    (printed) => ({ code: 0, ...printed }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  );
}

test("the signer of kube-apiserver is named, with what to install", async () => {
  expect(await run("kubernetes", "--config", "kubernetes.json")).toMatchObject({
    code: 2,
    stderr:
      "error @signpost/kubernetes is not installed, and this command needs it\nhint  npm install @signpost/kubernetes @grpc/grpc-js\n",
  });
});

test("the gRPC library is named, where only that is missing", async () => {
  const kubernetes = join(work.path, "node_modules/@signpost/kubernetes");
  await mkdir(kubernetes, { recursive: true });
  for (const name of ["dist", "package.json"]) {
    await cp(join(PACKAGE, "../kubernetes", name), join(kubernetes, name), { recursive: true });
  }
  await symlink(join(PACKAGE, "../core"), join(work.path, "node_modules/@signpost/core"));
  expect(await run("kubernetes", "--config", "kubernetes.json")).toMatchObject({
    code: 2,
    stderr: "error @grpc/grpc-js is not installed, and this command needs it\nhint  npm install @grpc/grpc-js\n",
  });
});

test("an adapter that is not installed is named, with what to install", async () => {
  expect(await run("kid", "local:op.pem")).toMatchObject({
    code: 2,
    stderr: "error @signpost/local is not installed, and this key needs it\nhint  npm install @signpost/local\n",
  });
  expect(await run("kid", "awskms:///alias/op")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("npm install @signpost/aws-kms @aws-sdk/client-kms"),
  });
});

test("an adapter in the working folder is used", async () => {
  await link(join(work.path, "node_modules"), "@signpost/local");
  expect(await run("kid", "local:op.pem")).toMatchObject({ code: 0, stdout: expect.stringMatching(/^[\w-]{43}\n$/) });
});

test("a package that is there and cannot find another one is not called missing", async () => {
  const folder = join(work.path, "node_modules/broken-adapter");
  await mkdir(folder, { recursive: true });
  await writeFile(
    join(folder, "package.json"),
    JSON.stringify({ name: "broken-adapter", type: "module", exports: "./index.js" }),
  );
  await writeFile(join(folder, "index.js"), 'import "no-such-package";');
  await expect(importPackage("broken-adapter", work.path)).rejects.toThrow("no-such-package");
  expect(await importPackage("no-such-adapter", work.path)).toBeUndefined();
});
