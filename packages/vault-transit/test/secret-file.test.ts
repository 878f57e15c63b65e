import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type * as promises from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { readSecretFile } from "../src/secret-file.ts";
import { rejection } from "./support/signatures.ts";

const stat = vi.hoisted(() => vi.fn<(path: string) => Promise<unknown>>());
vi.mock("node:fs/promises", async (load) => ({ ...(await load<typeof promises>()), stat }));
afterEach(() => void stat.mockReset());

const failure = (code: unknown, path = "/var/run/token"): Promise<unknown> => {
  stat.mockRejectedValue(Object.assign(new Error("a message of the system"), { code }));
  return rejection(readSecretFile("auth.path", path));
};

describe("a file with a secret", () => {
  test("is read without a byte order mark and without white space around the secret", async () => {
    const real = await vi.importActual<typeof promises>("node:fs/promises");
    stat.mockImplementation(real.stat);
    const folder = mkdtempSync(join(tmpdir(), "signpost-vault-secret-"));
    const path = join(folder, "token");
    for (const content of ["hvs.token", " hvs.token\r\n", "\uFEFFhvs.token\n"]) {
      writeFileSync(path, content);
      expect(await readSecretFile("auth.path", path)).toBe("hvs.token");
    }
    writeFileSync(path, Buffer.from([0xff]));
    expect(await rejection(readSecretFile("auth.path", path))).toMatchObject({ code: "access_denied" });
    rmSync(folder, { recursive: true });
  });

  test.each(["EMFILE", "ENFILE", "EIO", "ESTALE"])("that fails with %s may be readable later", async (code) => {
    expect(await failure(code)).toMatchObject({
      code: "unavailable",
      transient: true,
      message: `the file /var/run/token (auth.path) cannot be read: ${code}`,
    });
  });

  test.each([
    "ENOENT",
    "EACCES",
    // These only begin or end like one that passes.
    "EIOX",
    "ESTALED",
    "EMFILES",
    "XEIO",
    "XESTALE",
    "REMFILE",
    "EFILE",
    undefined,
  ])("that fails with %s is not readable by what is set", async (code) => {
    expect(await failure(code)).toMatchObject({
      code: "access_denied",
      transient: false,
      message: `the file /var/run/token (auth.path) cannot be read: ${code}`,
    });
  });

  test.each([
    ["/a/b", true],
    [`/${"a".repeat(64)}/b`, true],
    [`/${"a".repeat(65)}/b`, false],
    ["/a".repeat(16), true],
    ["/a".repeat(17), false],
    ["/a", false],
    ["a/b/c", false],
    ["/a/b/", false],
    ["/a//b", false],
    ["/a/b c", false],
    ["/a_b/c.d@e+f-g", true],
  ])("is named by its path only if that is clearly one: %s, %s", async (path, isShown) => {
    const where = isShown ? `${path} (auth.path)` : "in auth.path";
    expect(await failure("ENOENT", path)).toMatchObject({ message: `the file ${where} cannot be read: ENOENT` });
  });
});
