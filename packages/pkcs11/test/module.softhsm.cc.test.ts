import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { ConfigurationError } from "@signpost/core";
import { type SoftHsm, startSoftHsm } from "@signpost/test-backends/softhsm";
import { createOpener, type GuardedOptions, outcome, until } from "./support/signing.ts";

const opener = createOpener();
let hsm: SoftHsm;
let base: GuardedOptions;
let folder: string;

beforeAll(async () => {
  hsm = await startSoftHsm();
  await hsm.generateKey({ label: "k1", id: "01" });
  base = { module: hsm.module, token: hsm.tokenLabel, object: "k1", pin: hsm.pin };
  folder = await mkdtemp(join(tmpdir(), "signpost-modules-"));
});
afterEach(() => opener.closeAll());
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await hsm.stop();
});

/** A shared library of one's own making. */
async function library(name: string, source: string): Promise<string> {
  const path = join(folder, `${name}.so`);
  await writeFile(join(folder, `${name}.c`), source);
  await promisify(execFile)("cc", ["-shared", "-fPIC", "-o", path, join(folder, `${name}.c`)]);
  return path;
}

async function file(name: string, content: string): Promise<string> {
  await writeFile(join(folder, name), content);
  return join(folder, name);
}

describe("a module that cannot be loaded", () => {
  test.each<[what: string, make: () => string | Promise<string>, text: RegExp]>([
    ["an empty path", () => "", /expected the path of a PKCS#11 library/],
    ["a path with a NUL", () => "/a\0b", /expected the path/],
    ["a path where nothing is", () => "/nonexistent/x.so", /"\/nonexistent\/x\.so", which cannot be read/],
    ["a folder", () => folder, /cannot be read|not a shared library/],
    ["a text file", () => file("text.so", "# a linker script, perhaps\n"), /not a shared library/],
    ["an empty file", () => file("empty.so", ""), /not a shared library/],
    ["a library that ends too early", () => file("short.so", "\x7fELF"), /file too short|invalid ELF/],
    [
      "a library that is no PKCS#11 module",
      () => library("other", "int other(void) { return 1; }"),
      /C_GetFunctionList/,
    ],
    [
      "a module whose C_GetFunctionList fails",
      () => library("failing", "unsigned long C_GetFunctionList(void **list) { *list = 0; return 5; }"),
      /^module: expected a module that returns its functions: C_GetFunctionList: CKR_GENERAL_ERROR \(0x5\)$/,
    ],
  ])("%s is a ConfigurationError, and the process goes on", async (_what, make, text) => {
    const module = await make();
    for (const isolation of ["thread", "process"] as const) {
      const error: unknown = await opener.open({ ...base, module, isolation }).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(ConfigurationError);
      expect(error).toMatchObject({ argument: "module", message: expect.stringMatching(text) as string });
    }
    expect(await outcome(await opener.open(base))).toBe("signed");
  });

  test("through a symbolic link is the same module as by its real path", async () => {
    const link = join(folder, "link.so");
    await promisify(execFile)("ln", ["-s", hsm.module, link]);
    const [direct, linked] = [await opener.open(base), await opener.open({ ...base, module: link })];
    expect(linked.uri).toBe(direct.uri);
  });
});

describe("a module that crashes its process", () => {
  test.each<[what: string, source: string]>([
    ["while it is loaded", "#include <stdlib.h>\n__attribute__((constructor)) static void start(void) { abort(); }"],
    [
      "at the first call, its list of functions being none",
      "unsigned long C_GetFunctionList(void **list) { *list = 0; return 0; }",
    ],
  ])("%s is a typed error under isolation: process, and nothing else is lost", async (what, source) => {
    const module = await library(`crash-${what.length}`, source);
    await expect(opener.open({ ...base, module, isolation: "process" })).rejects.toMatchObject({
      name: "SignerError",
      code: "unavailable",
      message: expect.stringMatching(/the child process that holds the module ended: SIG/) as string,
    });
    expect(await outcome(await opener.open({ ...base, isolation: "process" }))).toBe("signed");
  });
});

describe("options", () => {
  test.each<[name: string, options: Record<string, unknown>]>([
    ["sessions", { sessions: 0 }],
    ["sessions", { sessions: 65 }],
    ["sessions", { sessions: 1.5 }],
    ["token", { token: "" }],
    ["serial", { serial: 5 }],
    ["slotId", { slotId: -1 }],
    ["object", { object: "" }],
    ["object", { object: "k1\ud800" }],
    ["id", { id: "01" }],
    ["id", { id: new Uint8Array(0) }],
    ["isolation", { isolation: "fork" }],
    ["publicKey", { publicKey: "-----BEGIN CERTIFICATE-----" }],
    ["publicKey", { publicKey: { kty: "EC", crv: "P-384", x: "", y: "" } }],
    ["libraryParameters", { libraryParameters: "" }],
    ["libraryParameters", { libraryParameters: "configdir='a'\0" }],
    ["openDeadlineMs", { openDeadlineMs: 0 }],
    ["policy.deadlineMs", { policy: { deadlineMs: -1 } }],
  ])("%s is checked: %j", async (argument, options) => {
    await expect(opener.open({ ...base, ...options })).rejects.toMatchObject({
      name: "ConfigurationError",
      argument,
    });
  });

  test("a token is found by serial number and by slot too, and a padded label matches", async () => {
    const first = await opener.open(base);
    const serial = /serial=([^;]*)/.exec(first.uri)?.[1] ?? "";
    const second = await opener.open({ ...base, token: `${hsm.tokenLabel}   `, serial });
    expect(second.uri).toBe(first.uri);
    await expect(opener.open({ ...base, serial: "0000" })).rejects.toMatchObject({ code: "key_not_found" });
    await expect(opener.open({ ...base, slotId: 1_000_000 })).rejects.toMatchObject({ code: "key_not_found" });
  });

  test("a token that was made after the module was initialized is found, and others keep signing", async () => {
    const signer = await opener.open(base);
    const token = await hsm.addToken();
    await token.generateKey({ label: "k1", id: "01" });
    const made = { ...base, token: token.tokenLabel, pin: token.pin };
    await until(async () => {
      const opened = await opener.open(made).catch(() => undefined);
      return opened !== undefined && (await outcome(opened)) === "signed";
    });
    expect(await outcome(signer)).toBe("signed");
  });

  test("two tokens with one label are ambiguous without a serial number, and both are listed", async () => {
    await hsm.addToken({ label: "same", pin: "12345678" });
    await hsm.addToken({ label: "same", pin: "12345678" });
    await opener.closeAll();
    await expect(opener.open({ ...base, token: "same" })).rejects.toMatchObject({
      code: "ambiguous_key",
      message: expect.stringMatching(/"same" \(serial \w+, slot \d+\), "same" \(serial \w+, slot \d+\)/) as string,
    });
  });
});
