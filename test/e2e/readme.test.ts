import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createRemoteJWKSet, jwtVerify } from "jose";
import { expect, test } from "vitest";
import { startFakeAwsKms } from "@signpost/test-backends/fake-aws-kms";
import { freePort } from "@signpost/test-backends/process";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const TSC = join(ROOT, "node_modules/typescript/bin/tsc");

const readme = await readFile(join(ROOT, "README.md"), "utf8");
/** The OP, the two lines for a key without a cloud, the relying party. */
const [op = "", local = "", rp = ""] = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code);

/** The OP with the lines that import and open its signer replaced, as the README says. */
function withoutCloud(): string {
  const [theImport = "", theSigner = ""] = local.split("\n").filter((line) => line.trim() !== "");
  return op.replace(/^import .*aws-kms.*$/m, theImport).replace(/^const signer = .*$/m, theSigner);
}

/** Compiled by tsc against the built packages; only the port is changed. */
async function compile(folder: string, source: string, port: number): Promise<string> {
  await writeFile(join(folder, "op.ts"), source.replaceAll("3000", String(port)));
  await writeFile(join(folder, "rp.ts"), rp.replaceAll("3000", String(port)));
  await writeFile(
    join(folder, "tsconfig.json"),
    JSON.stringify({
      extends: join(ROOT, "tsconfig.base.json"),
      compilerOptions: { composite: false, isolatedDeclarations: false, declaration: false, declarationMap: false },
      files: ["op.ts", "rp.ts"],
    }),
  );
  await promisify(execFile)(process.execPath, [TSC, "-p", folder], { cwd: ROOT });
  return join(folder, "op.js");
}

/** Starts the OP, and the relying party of the README with it. */
async function expectVerifiedToken(source: string, env: NodeJS.ProcessEnv): Promise<void> {
  const cache = join(ROOT, "node_modules/.cache");
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, "readme-"));
  const port = await freePort();
  const program = await compile(folder, source, port);
  const example = spawn(process.execPath, [program], { cwd: ROOT, stdio: "inherit", env: { ...process.env, ...env } });
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
    const { stdout } = await promisify(execFile)(process.execPath, [join(folder, "rp.js")], { cwd: ROOT });
    expect(stdout).toContain("sub: '248289'");
  } finally {
    example.kill();
    await exited;
    await rm(folder, { recursive: true });
  }
}

test("the README's OP is about twenty lines", () => {
  expect(op.split("\n").filter((line) => line.trim() !== "").length).toBeLessThanOrEqual(22);
});

test("the README's example runs as it stands with a key in KMS: it publishes the key, and jose verifies its token", async () => {
  await using kms = await startFakeAwsKms();
  kms.pointAlias("alias/op-2026", kms.addKey());
  await expectVerifiedToken(op, {
    AWS_ENDPOINT_URL_KMS: kms.endpoint,
    AWS_ACCESS_KEY_ID: kms.credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: kms.credentials.secretAccessKey,
  });
});

test("the README's example runs without a cloud with the two lines that it names", async () => {
  expect(withoutCloud()).not.toContain("aws");
  await expectVerifiedToken(withoutCloud(), {});
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
