import { execFile } from "node:child_process";
import { copyFile, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
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
