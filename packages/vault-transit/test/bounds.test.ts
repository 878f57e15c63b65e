import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openVaultTransitSigner, vaultTransit, vaultTransitKeys } from "@signpost/vault-transit";
import { LONGEST_MS, refusedAround, refusedValues } from "@signpost/test-backends/option-bounds";
import { selfSignedCertificate } from "@signpost/test-backends/self-signed";
import { readSecretFile } from "../src/secret-file.ts";
import { readTlsFiles } from "../src/tls-files.ts";
import { rejection } from "./support/signatures.ts";

const publicKey = {
  kty: "EC",
  crv: "P-256",
  x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
  y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
} as const;
/** Nothing answers, so that only the options are read. */
const dispatcher = { request: () => Promise.reject(new Error("not reached")) };
const connection = { address: "https://vault.example:8200", auth: { method: "none" }, dispatcher } as const;
const place = { ...connection, key: "op" };
const opening = { ...place, keyVersion: 3, publicKey };
const close = async (signer: Promise<{ close(): Promise<void> }>): Promise<void> => (await signer).close();

test.each<[what: string, option: string, min: number, max: number, use: (value: number) => unknown, step?: number]>([
  [
    "openVaultTransitSigner",
    "openDeadlineMs",
    1,
    LONGEST_MS,
    (value) => close(openVaultTransitSigner({ ...opening, openDeadlineMs: value })),
  ],
  [
    "openVaultTransitSigner",
    "keyVersion",
    1,
    2_147_483_647,
    (keyVersion) => close(openVaultTransitSigner({ ...opening, keyVersion })),
  ],
  [
    "vaultTransit",
    "openDeadlineMs",
    1,
    LONGEST_MS,
    (openDeadlineMs) => vaultTransit({ ...connection, openDeadlineMs }),
  ],
  [
    "vaultTransitKeys",
    "openDeadlineMs",
    1,
    LONGEST_MS,
    (value) => vaultTransitKeys({ ...place, openDeadlineMs: value }),
  ],
  [
    "vaultTransitKeys",
    "pickUpMinutes",
    0,
    10_080,
    (value) => vaultTransitKeys({ ...place, pickUpMinutes: value }),
    0.5,
  ],
  ["vaultTransitKeys", "announceHours", 2, 8784, (value) => vaultTransitKeys({ ...place, announceHours: value }), 0.5],
])("%s takes %s from %d to %d", async (_what, option, min, max, use, step = 1) => {
  expect(await refusedAround(option, use, { min, max, step })).toEqual([min - step, max + step]);
});

test.each(["key", "mount", "namespace"])("%s has 1 to 256 characters", async (option) => {
  const lengths = [0, 1, 256, 257].map((length) => "a".repeat(length));
  const open = (value: string): Promise<void> => close(openVaultTransitSigner({ ...opening, [option]: value }));
  expect(await refusedValues(option, open, lengths)).toEqual(["", "a".repeat(257)]);
});

describe("a file", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "signpost-vault-bounds-"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  async function written(text: string): Promise<string> {
    const path = join(folder, String(text.length));
    await writeFile(path, text);
    return path;
  }

  test("for TLS has at most 1 MiB", async () => {
    const { cert } = selfSignedCertificate("localhost");
    const read = async (length: number): Promise<unknown> =>
      readTlsFiles({ caFile: await written(cert.padEnd(length, "\n")) });
    expect(await refusedValues("tls.caFile", read, [1_048_576, 1_048_577])).toEqual([1_048_577]);
  });

  test("with a secret has at most 16 KiB", async () => {
    const secret = "s".repeat(16_384);
    expect(await readSecretFile("auth.path", await written(secret))).toBe(secret);
    const error = await rejection(readSecretFile("auth.path", await written(`${secret}\n`)));
    expect(error).toMatchObject({ code: "access_denied", message: expect.stringContaining("at most 16384 bytes") });
  });
});
