import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { openPkcs11Signer } from "@signpost/pkcs11";
import { startSoftHsm } from "@signpost/test-backends/softhsm";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

test("the program of docs/pkcs11.md makes a key that cannot leave its token, only signs, and opens", async () => {
  const hsm = await startSoftHsm();
  onTestFinished(() => hsm.stop());
  const args = [await writeProgram(), hsm.module, hsm.tokenLabel, "sig-2026", "01"];
  await promisify(execFile)(process.execPath, args, { cwd: ROOT, env: { ...hsm.env, OP_PIN: hsm.pin } });

  const listed = await hsm.pkcs11Tool("--list-objects", "--type", "privkey");
  expect(listed.split("\n").map((line) => line.trim())).toEqual(
    expect.arrayContaining([
      "label:      sig-2026",
      "Usage:      sign",
      "Access:     sensitive, always sensitive, never extractable, local",
    ]),
  );
  const { module, tokenLabel: token, pin } = hsm;
  const signer = await openPkcs11Signer({ module, token, object: "sig-2026", pin });
  await expect(signer.sign(new Uint8Array(32))).resolves.toHaveLength(64);
  await signer.close();
});

/** It is JavaScript as it stands. In the clone, so that it finds pkcs11js. */
async function writeProgram(): Promise<string> {
  const page = await readFile(join(ROOT, "docs/pkcs11.md"), "utf8");
  const [, source = ""] = /```ts\n(\/\/ make-key\.mjs\n[\s\S]*?)```/.exec(page) ?? [];
  const cache = join(ROOT, "node_modules/.cache");
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, "make-key-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "make-key.mjs");
  await writeFile(path, source);
  return path;
}
