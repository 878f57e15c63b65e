import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openPkcs11Signer, pkcs11, pkcs11Certificates } from "@signpost/pkcs11";
import { LONGEST_MS, refusedAround } from "@signpost/test-backends/option-bounds";
import { readPinFile } from "../src/request/pin-file.ts";

/** There is no such module, so that only the options are read. */
const module = "/nowhere/module.so";
const opening = { module, pin: "1234" };

test.each<[what: string, option: string, max: number, use: (value: number) => unknown]>([
  [
    "openPkcs11Signer",
    "openDeadlineMs",
    LONGEST_MS,
    (value) => openPkcs11Signer({ ...opening, openDeadlineMs: value }),
  ],
  ["openPkcs11Signer", "sessions", 64, (sessions) => openPkcs11Signer({ ...opening, sessions })],
  ["pkcs11", "openDeadlineMs", LONGEST_MS, (openDeadlineMs) => pkcs11({ openDeadlineMs })],
  ["pkcs11", "sessions", 64, (sessions) => pkcs11({ sessions })],
  [
    "pkcs11Certificates",
    "openDeadlineMs",
    LONGEST_MS,
    (value) => pkcs11Certificates({ module, openDeadlineMs: value }),
  ],
])("%s takes %s from 1 to %i", async (_what, option, max, use) => {
  expect(await refusedAround(option, use, { min: 1, max })).toEqual([0, max + 1]);
});

test("a PIN file has at most 4 KiB", async () => {
  const folder = await mkdtemp(join(tmpdir(), "signpost-pin-bounds-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const read = async (length: number): Promise<number> => {
    const path = join(folder, String(length));
    await writeFile(path, "1".repeat(length));
    return (await readPinFile(path)).length;
  };
  expect(await read(4_096)).toBe(4_096);
  await expect(read(4_097)).rejects.toMatchObject({
    argument: "pin",
    message: expect.stringContaining("at most 4096"),
  });
});
