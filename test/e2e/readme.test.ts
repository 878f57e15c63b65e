import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createRemoteJWKSet, jwtVerify } from "jose";
import { expect, test } from "vitest";
import { freePort } from "@signpost/test-backends/process";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const TSC = join(ROOT, "node_modules/typescript/bin/tsc");

/** The README's first TypeScript block, compiled by tsc against the built packages; only its port is changed. */
async function compileExample(folder: string, port: number): Promise<string> {
  const readme = await readFile(join(ROOT, "README.md"), "utf8");
  const [, source = ""] = /```ts\n([\s\S]*?)```/.exec(readme) ?? [];
  expect(source.split("\n").filter((line) => line.trim() !== "").length).toBeLessThanOrEqual(22);
  await writeFile(join(folder, "example.ts"), source.replaceAll("3000", String(port)));
  await writeFile(
    join(folder, "tsconfig.json"),
    JSON.stringify({
      extends: join(ROOT, "tsconfig.base.json"),
      compilerOptions: { composite: false, isolatedDeclarations: false, declaration: false, declarationMap: false },
      files: ["example.ts"],
    }),
  );
  await promisify(execFile)(process.execPath, [TSC, "-p", folder], { cwd: ROOT });
  return join(folder, "example.js");
}

test("the README's example runs as it stands: it publishes its key and signs a token that jose verifies", async () => {
  const cache = join(ROOT, "node_modules/.cache");
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, "readme-"));
  const port = await freePort();
  const example = spawn(process.execPath, [await compileExample(folder, port)], { cwd: ROOT, stdio: "inherit" });
  const exited = once(example, "exit");
  try {
    const issuer = `http://localhost:${port}`;
    const token = await firstAnswer(issuer, () => example.exitCode);
    const discovery = (await (await fetch(`${issuer}/.well-known/openid-configuration`)).json()) as {
      jwks_uri: string;
    };
    const { payload } = await jwtVerify(token, createRemoteJWKSet(new URL(discovery.jwks_uri)), {
      issuer,
      audience: "rp",
    });
    expect(payload.sub).toBe("248289");
  } finally {
    example.kill();
    await exited;
    await rm(folder, { recursive: true });
  }
});

async function firstAnswer(url: string, exitCode: () => number | null): Promise<string> {
  while (exitCode() === null) {
    try {
      return await (await fetch(url)).text();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  throw new Error("the example has exited");
}
