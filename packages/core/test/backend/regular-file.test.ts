import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { ConfigurationError } from "@signpost/core";
import { readRegularFile } from "@signpost/core/adapter";

const folder = mkdtempSync(join(tmpdir(), "signpost-file-"));
const path = join(folder, "file");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("a regular file is read as it is, up to the bound", async () => {
  writeFileSync(path, Buffer.from([0xef, 0xbb, 0xbf, 1, 10]));
  expect([...(await readRegularFile("key", path, 5))]).toEqual([0xef, 0xbb, 0xbf, 1, 10]);
  await expect(readRegularFile("key", path, 4)).rejects.toThrow("key: expected a file of at most 4 bytes");
  writeFileSync(path, "");
  expect(await readRegularFile("key", path, 4)).toHaveLength(0);
});

test("a file that may never answer is refused, without its path in the message", async () => {
  const fifo = join(folder, "fifo");
  execFileSync("mkfifo", [fifo]);
  for (const other of [fifo, folder, "/dev/zero", "/dev/null"]) {
    const error: unknown = await readRegularFile("key", other, 4).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(String(error)).toBe("ConfigurationError: key: expected a regular file, not a FIFO, device or folder");
  }
});

test("a file that cannot be read rejects with the system's error", async () => {
  await expect(readRegularFile("key", join(folder, "missing"), 4)).rejects.toMatchObject({ code: "ENOENT" });
});
