import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { selfSignedCertificate } from "@signpost/test-backends/self-signed";
import { readCaFile } from "../src/tls-files.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "signpost-azure-tls-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** What reading a file with this content, or none, says. */
async function refusal(content: string | undefined): Promise<{ readonly argument: unknown; readonly message: string }> {
  const path = join(folder, "ca.pem");
  await rm(path, { force: true });
  if (content !== undefined) await writeFile(path, content);
  const error: unknown = await readCaFile(path).catch((thrown: unknown) => thrown);
  return { argument: Reflect.get(Object(error), "argument"), message: String(Reflect.get(Object(error), "message")) };
}

test("certificates are read as they are", async () => {
  const { cert } = selfSignedCertificate("localhost");
  const path = join(folder, "good.pem");
  await writeFile(path, cert);
  expect(await readCaFile(path)).toBe(cert);
});

test("certificates are read without a byte order mark, after which TLS would skip the first one", async () => {
  const both = `${selfSignedCertificate("localhost").cert}${selfSignedCertificate("localhost").cert}`;
  const path = join(folder, "mark.pem");
  await writeFile(path, `\uFEFF${both}`);
  expect(await readCaFile(path)).toBe(both);
});

test.each<[what: string, content: string | undefined, message: RegExp]>([
  ["a missing one", undefined, /expected a PEM file with certificates, but it cannot be read: ENOENT$/],
  ["one without PEM", "hello", /expected a PEM file with certificates$/],
  [
    "one with a broken certificate",
    "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    /expected a PEM file with certificates \(ERR_OSSL_/,
  ],
])("of the files, %s is refused with the reason, and without its path", async (_what, content, message) => {
  const { argument, message: said } = await refusal(content);
  expect(argument).toBe("tls.caFile");
  expect(said).toMatch(message);
  expect(said).not.toContain(folder);
});
