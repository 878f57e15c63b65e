import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startTpm2, type Tpm2Token } from "@signpost/test-backends/tpm2";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createKeyFolder, type KeyFolder } from "./support/key-folder.ts";
import { runCli, type CliResult } from "./support/run-cli.ts";

let tpm: Tpm2Token;
let folder: KeyFolder;
let uri: string;
beforeAll(async () => {
  [tpm, folder] = await Promise.all([startTpm2(), createKeyFolder()]);
  const pin = join(folder.path, "pin");
  await writeFile(pin, tpm.pin, { mode: 0o600 });
  uri = `pkcs11:token=${tpm.tokenLabel};object=op-2027?module-path=${tpm.module}&pin-source=file:${pin}`;
});
afterAll(async () => {
  await tpm.stop();
  await folder[Symbol.asyncDispose]();
});

/** There is no resource manager, so what a program leaves in the TPM is flushed after it. */
async function cli(...args: readonly string[]): Promise<CliResult> {
  const result = await runCli(args, { cwd: folder.path });
  await tpm.flush();
  return result;
}

test("keygen says that the module refused the key, and what to do", async () => {
  expect(await cli("keygen", uri)).toEqual({
    code: 3,
    stdout: "",
    stderr: [
      "error the PKCS#11 module made no key: CKR_GENERAL_ERROR",
      "hint  Some modules refuse a key that only signs and cannot leave the token: make the key with the tool of the module",
      "",
    ].join("\n"),
  });
});

test("a key of the module's own tool has a kid, and doctor says what it may do", async () => {
  await tpm.generateKey("op-2027", "01");
  await tpm.flush();
  const { code, stdout } = await cli("kid", uri);
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^[\w-]{43}\n$/) });
  const examined = await cli("doctor", uri, "--samples", "0", "--json");
  const [{ findings }] = JSON.parse(examined.stdout).keys;
  const levels = findings.map(({ check, level }: { check: string; level: string }) => `${check} ${level}`);
  expect(levels).toEqual(expect.arrayContaining(["open ok", "probe ok"]));
});
