import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { startSoftHsm, type SoftHsm } from "@signpost/test-backends/softhsm";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { KeyFolder } from "../support/key-folder.ts";
import { runCli, type CliOptions, type CliResult } from "../support/run-cli.ts";
import { runOnTerminal } from "../support/terminal.ts";
import { ENTRIES, FROZEN, rotationFolder, configText } from "./support.ts";

let hsm: SoftHsm;
let folder: KeyFolder;
/** The URI of a key, without the PIN. */
const uriOf = (label: string): string => `pkcs11:token=${hsm.tokenLabel};object=${label}?module-path=${hsm.module}`;
const withPin = (label: string): string => `${uriOf(label)}&pin-source=env:OP_PIN`;

function cli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  return runCli(["rotate", ...args], {
    cwd: folder.path,
    env: { ...FROZEN, ...hsm.env, OP_PIN: hsm.pin, ...options.env },
  });
}

beforeAll(async () => {
  [hsm, folder] = await Promise.all([startSoftHsm({ label: "op" }), rotationFolder()]);
  await hsm.generateKey({ label: "sig-a", id: "01" });
  await hsm.generateKey({ label: "sig-b", id: "02" });
  await folder.write("signpost.config.json", configText([{ ...ENTRIES[0], signer: withPin("sig-a") }]));
});
afterAll(async () => {
  await hsm.stop();
  await folder[Symbol.asyncDispose]();
});

function written(): Promise<string> {
  return readFile(join(folder.path, "signpost.config.json"), "utf8");
}

test("a wrong PIN is named and tried once, and nothing is written", async () => {
  const before = await written();
  const token = await hsm.addToken({ label: "other" });
  await token.generateKey({ label: "sig-c", id: "03" });
  const uri = withPin("sig-c").replace("token=op", "token=other");
  const args = ["announce", "--signer", uri, "--yes"];
  const { code, stdout, stderr } = await cli(args, { env: { OP_PIN: "00000000" } });
  expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
  expect(stderr).toContain("error --signer: ");
  expect(stderr).toContain("hint  Check the PIN before you try again");
  expect(stderr).not.toContain("00000000");
  expect(await written()).toBe(before);
});

test("the same key under another URI is found, because the other keys are opened too", async () => {
  const uri = withPin("sig-a").replace("object=sig-a", "object=sig-a;id=%01");
  const { code, stderr } = await cli(["announce", "--signer", uri, "--key-id", "twice", "--dry-run"]);
  expect(code).toBe(2);
  expect(stderr).toContain("expected a different key, got the key of entries[0]");
});

test("at a terminal, the PIN of a token is asked for once, and then whether to write", async () => {
  await folder.write("asked.json", configText([{ ...ENTRIES[0], signer: uriOf("sig-a") }]));
  const args = ["rotate", "announce", "--signer", uriOf("sig-b"), "--key-id", "b", "--config", "asked.json"];
  const typed = [
    { question: "PIN of token=op", answer: `${hsm.pin}\r` },
    { question: "Write this to", answer: "y" },
  ];
  const { code, shown } = await runOnTerminal(args, typed, { cwd: folder.path, env: { ...FROZEN, ...hsm.env } });
  expect(code).toBe(0);
  expect(shown).not.toContain(hsm.pin);
  expect(await readFile(join(folder.path, "asked.json"), "utf8")).toContain('"keyId": "b"');
});

test("a key in a token is announced, and takes the place of another in an emergency", async () => {
  expect(await cli(["announce", "--signer", withPin("sig-b"), "--key-id", "b", "--yes"])).toMatchObject({ code: 0 });
  const { code, stdout } = await cli(["emergency", "sig-2026-01", "--yes", "--json"]);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ written: true, signs: "b" });
  expect(JSON.parse(await written()).keys.entries).toMatchObject([{ keyId: "b", signer: withPin("sig-b") }]);
});
