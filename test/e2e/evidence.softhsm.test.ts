import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { startSoftHsm } from "@signpost/test-backends/softhsm";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

test("the program of docs/hardware.md runs the conformance checks with a token", async () => {
  await using hsm = await startSoftHsm();
  await hsm.generateKey({ label: "evidence", id: "01" });
  const env = {
    ...process.env,
    ...hsm.env,
    OP_PIN: hsm.pin,
    OP_URI: `pkcs11:token=${hsm.tokenLabel};object=evidence?module-path=${hsm.module}`,
  };
  const args = ["--test", "--test-reporter=tap", await writeProgram()];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT, env, maxBuffer: 1 << 24 });
  expect(Number(/^# pass (\d+)$/m.exec(stdout)?.[1])).toBeGreaterThan(20);
  expect(stdout).toContain("# fail 0\n");
  expect(stdout).not.toContain(hsm.pin);
});

/** It is JavaScript as it stands. In the clone, so that it finds the packages. */
async function writeProgram(): Promise<string> {
  const page = await readFile(join(ROOT, "docs/hardware.md"), "utf8");
  const [, source = ""] = /```ts\n(\/\/ evidence\.mjs\n[\s\S]*?)```/.exec(page) ?? [];
  const cache = join(ROOT, "node_modules/.cache");
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, "evidence-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "evidence.mjs");
  await writeFile(path, source);
  return path;
}
