import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { NameFlags } from "../src/csr/name-flags.ts";
import { runCsr } from "../src/csr/run.ts";
import { createKeyFolder, type KeyFolder } from "./support/key-folder.ts";
import { recordingContext } from "./support/recording-context.ts";

// Where a certificate request goes, by its form.

let folder: KeyFolder;
beforeAll(async () => {
  folder = await createKeyFolder();
  await folder.addKey("op.pem");
});
afterAll(() => folder[Symbol.asyncDispose]());

async function csr(flags: NameFlags, isTerminal: boolean): Promise<string> {
  const context = recordingContext(folder.path);
  const output = { ...context.output, isTerminal };
  const code = await runCsr({ ...context, output }, { dns: ["op.example"], ...flags }, `local:${folder.path}/op.pem`);
  expect(code).toBe(0);
  return context.printed();
}

test.each([true, false])("PEM is printed, on a terminal: %s", async (isTerminal) => {
  expect(await csr({}, isTerminal)).toMatch(/^-----BEGIN CERTIFICATE REQUEST-----\n/);
});

test("DER is printed for another program", async () => {
  const printed = await csr({ der: true }, false);
  expect(printed).not.toContain("BEGIN");
  expect(printed.charCodeAt(0)).toBe(0x30);
});

test("DER is not for a terminal, unless it is written to a file", async () => {
  await expect(csr({ der: true }, true)).rejects.toMatchObject({
    exitCode: 2,
    code: "flags",
    message: "DER is not for a terminal",
    hint: "Add --out op.der",
  });
  expect(await csr({ der: true, out: "op.der" }, true)).toBe("✓ wrote op.der\n");
  expect((await readFile(join(folder.path, "op.der")))[0]).toBe(0x30);
});

test("DER goes with JSON only if it is written to a file", async () => {
  await expect(csr({ der: true, json: true }, false)).rejects.toMatchObject({
    exitCode: 2,
    message: "--der goes with --json only if there is --out",
  });
  expect(await csr({ der: true, json: true, out: "json.der" }, false)).toContain('"file": "json.der"');
  expect(await csr({ json: true }, true)).toContain('"pem": "-----BEGIN');
});
