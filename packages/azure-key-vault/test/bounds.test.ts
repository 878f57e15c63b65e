import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { azureKeyVault, azureKeyVaultKeys, openAzureKeyVaultSigner } from "@signpost/azure-key-vault";
import { LONGEST_MS, refusedAround, refusedValues } from "@signpost/test-backends/option-bounds";
import { selfSignedCertificate } from "@signpost/test-backends/self-signed";
import { readCaFile } from "../src/tls-files.ts";

const vault = "https://op.vault.azure.net";
const publicKey = {
  kty: "EC",
  crv: "P-256",
  x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
  y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
} as const;
const never = (): Promise<never> => Promise.reject(new Error("not reached"));
const api = { getKey: never, sign: never, listKeyVersions: never };
const opening = { vault, key: "op", keyVersion: "0123456789abcdef0123456789abcdef", publicKey, api };
/** Nothing answers, so that only the options are read. */
const keys = { vault, key: "op", api };

test.each<[what: string, option: string, min: number, max: number, use: (value: number) => unknown, step?: number]>([
  [
    "openAzureKeyVaultSigner",
    "openDeadlineMs",
    1,
    LONGEST_MS,
    async (openDeadlineMs) => (await openAzureKeyVaultSigner({ ...opening, openDeadlineMs })).close(),
  ],
  ["azureKeyVault", "openDeadlineMs", 1, LONGEST_MS, (openDeadlineMs) => azureKeyVault({ openDeadlineMs })],
  [
    "azureKeyVaultKeys",
    "openDeadlineMs",
    1,
    LONGEST_MS,
    (value) => azureKeyVaultKeys({ ...keys, openDeadlineMs: value }),
  ],
  [
    "azureKeyVaultKeys",
    "pickUpMinutes",
    0,
    10_080,
    (value) => azureKeyVaultKeys({ ...keys, pickUpMinutes: value }),
    0.5,
  ],
  ["azureKeyVaultKeys", "announceHours", 2, 8784, (value) => azureKeyVaultKeys({ ...keys, announceHours: value }), 0.5],
])("%s takes %s from %d to %d", async (_what, option, min, max, use, step = 1) => {
  expect(await refusedAround(option, use, { min, max, step })).toEqual([min - step, max + step]);
});

test("the name of a key has 1 to 127 characters, and a version 32", async () => {
  const lengths = [0, 1, 127, 128].map((length) => "a".repeat(length));
  const open = async (key: string): Promise<void> => (await openAzureKeyVaultSigner({ ...opening, key })).close();
  expect(await refusedValues("key", open, lengths)).toEqual(["", "a".repeat(128)]);
  const versions = [31, 32, 33].map((length) => "a".repeat(length));
  const openVersion = async (keyVersion: string): Promise<void> =>
    (await openAzureKeyVaultSigner({ ...opening, keyVersion })).close();
  expect(await refusedValues("keyVersion", openVersion, versions)).toEqual(["a".repeat(31), "a".repeat(33)]);
});

test("a file of authorities has at most 1 MiB", async () => {
  const folder = await mkdtemp(join(tmpdir(), "signpost-azure-ca-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const { cert } = selfSignedCertificate("localhost");
  const read = async (length: number): Promise<string> => {
    const path = join(folder, `${length}.pem`);
    await writeFile(path, cert.padEnd(length, "\n"));
    return readCaFile(path);
  };
  expect(await refusedValues("tls.caFile", read, [1_048_576, 1_048_577])).toEqual([1_048_577]);
});
