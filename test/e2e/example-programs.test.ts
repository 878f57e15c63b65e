import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "@signpost/test-backends/process";
import { startExample } from "./support/example-program.ts";

const EXAMPLES = fileURLToPath(new URL("../../examples/", import.meta.url));

// Each is started as a user would: compiled, in a separate process, with only a port.
test.each([
  ["node-http", {}],
  ["express", {}],
  ["fastify", {}],
  ["hono", {}],
  ["koa", {}],
  ["nestjs", { PLATFORM: "express" }],
  ["nestjs", { PLATFORM: "fastify" }],
  ["oidc-provider", {}],
])(
  "examples/%s with %o serves its discovery document and its key set, and ends by itself on SIGTERM",
  async (name, env) => {
    const port = await freePort();
    const program = await startExample(name, { env: { ...env, PORT: String(port), ISSUER: "" } });
    onTestFinished(() => program.remove());
    await program.printed("listening");
    const issuer = `http://localhost:${port}`;
    const discovery = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
    expect(discovery).toMatchObject({ issuer, jwks_uri: `${issuer}/jwks` });
    const keySet = await fetch(`${issuer}/jwks`);
    expect([keySet.status, keySet.headers.get("content-type")]).toEqual([200, "application/jwk-set+json"]);
    expect(await program.ended("SIGTERM"), program.output()).toBe(0);
  },
);

test("the README of an example that starts a program says how to build it", async () => {
  const names = (await readdir(EXAMPLES)).toSorted();
  const readmes = names.map(async (name) => [
    name,
    await readFile(join(EXAMPLES, name, "README.md"), "utf8").catch(() => ""),
  ]);
  const starting = (await Promise.all(readmes)).filter(([, text = ""]) => /node \S*dist\/|npm start/.test(text));
  expect(starting.length).toBeGreaterThan(8);
  const without = starting.filter(([name = "", text = ""]) => !text.includes(`npm run build -- examples/${name}`));
  expect(without.map(([name]) => name)).toEqual([]);
});

test("setup.sh of examples/credential-issuer makes nothing before the example is built, so it can run again", async () => {
  const folder = await mkdtemp(join(tmpdir(), "signpost-e2e-setup-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await copyFile(join(EXAMPLES, "credential-issuer/setup.sh"), join(folder, "setup.sh"));
  const started = promisify(execFile)("sh", ["setup.sh", "haip", "http://localhost:3000"], { cwd: folder });
  await expect(started).rejects.toMatchObject({
    code: 2,
    stderr: "First, in the root folder: npm run build -- examples/credential-issuer\n",
  });
  expect(await readdir(folder)).toEqual(["setup.sh"]);
});

describe("setup.sh of examples/credential-issuer", () => {
  const NEEDED = ["openssl", "softhsm2-util", "pkcs11-tool", "module.so"];

  test.each([
    ["a tool that is missing", "pkcs11-tool", "pkcs11-tool is missing: install OpenSSL 3, SoftHSM and OpenSC\n"],
    ["a module that is missing", "module.so", "module.so does not exist: set MODULE to the path of SoftHSM's module\n"],
    ["a folder that it made before", "", "haip has a token already: remove the folder, or name another one\n"],
  ])("says so before it makes anything: %s", async (_what, missing, stderr) => {
    const folder = await mkdtemp(join(tmpdir(), "signpost-e2e-setup-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    await copyFile(join(EXAMPLES, "credential-issuer/setup.sh"), join(folder, "setup.sh"));
    for (const made of ["bin", "dist", ...(missing === "" ? ["haip", "haip/tokens"] : [])])
      await mkdir(join(folder, made));
    await writeFile(join(folder, "dist/request.js"), "");
    await symlink("/usr/bin/dirname", join(folder, "bin/dirname"));
    for (const name of NEEDED.filter((name) => name !== missing)) {
      const path = join(folder, name === "module.so" ? name : `bin/${name}`);
      await writeFile(path, "#!/bin/sh\nexit 1\n", { mode: 0o755 });
    }
    const before = await readdir(folder, { recursive: true });
    const env = { PATH: join(folder, "bin"), MODULE: "module.so" };
    const started = promisify(execFile)("/bin/sh", ["setup.sh", "haip", "http://localhost:3000"], { cwd: folder, env });
    await expect(started).rejects.toMatchObject({ code: 2, stderr });
    expect(await readdir(folder, { recursive: true })).toEqual(before);
  });
});
