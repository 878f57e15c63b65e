import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { ConfigurationError, VerifyError } from "@signpost/core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { requireConsistentKeys } from "../src/config/config-keys.ts";
import { readCertificateFiles } from "../src/config/certificate-files.ts";
import { decodeText, loadFile, readBytes } from "../src/config/load-file.ts";
import { writeFiles } from "../src/jwks/write-files.ts";
import { secretReader } from "../src/keys/secret-reference.ts";
import { below } from "../src/rotate/inspect.ts";
import { replaceFile } from "../src/rotate/change/write-config.ts";
import { instantOf } from "../src/rotate/timeline/instants.ts";
import { openKeySource } from "../src/verify/key-source.ts";
import { createKeyFolder, RFC_KEY, type KeyFolder } from "./support/key-folder.ts";
import { recordingContext } from "./support/recording-context.ts";

// An error in words for people keeps the one that it stands for, for those who search for the reason.

const { d: _private, ...PUBLIC } = RFC_KEY;
let folder: KeyFolder;
beforeAll(async () => {
  folder = await createKeyFolder();
  await folder.write("throws.mjs", "throw new RangeError('no');");
  await folder.write("unusable.json", { keys: [] });
  await folder.write("file", "");
  await mkdir(within("folder"));
});
afterAll(() => folder[Symbol.asyncDispose]());
const within = (name: string): string => join(folder.path, name);
const secret = async (reference: string): Promise<unknown> =>
  (await secretReader(reference, recordingContext(folder.path)))?.();

const schedule = {
  issuer: "https://op.example",
  keys: {
    maxTokenLifetimeSeconds: 60,
    entries: [{ publicKey: PUBLIC, announcedFrom: "soon", activeFrom: "2026-01-01T00:00:00Z" }],
  },
} as never;
const withChain = (chain: string): never =>
  ({ issuer: "https://op.example", keys: [{ publicKey: PUBLIC, certificates: { chain } }] }) as never;

test.each<[what: string, fail: () => unknown, cause: unknown]>([
  ["a file that is not there", () => readBytes(within("none")), { code: "ENOENT" }],
  ["a module that is not there", () => loadFile(within("none.mjs")), { code: "ENOENT" }],
  ["a module that throws", () => loadFile(within("throws.mjs")), expect.any(RangeError)],
  ["a text that is not UTF-8", () => decodeText(Uint8Array.of(0xff), "a.json"), expect.any(TypeError)],
  [
    "a file of certificates that is not there",
    () => readCertificateFiles(withChain("file:none.pem"), folder.path),
    { code: "ENOENT" },
  ],
  [
    "a file of certificates that is a folder",
    () => readCertificateFiles(withChain("file:folder"), folder.path),
    expect.any(ConfigurationError),
  ],
  [
    "a schedule with a mistake",
    () => requireConsistentKeys({ config: schedule, name: "a.json" }),
    { argument: "keys.entries[0].announcedFrom", cause: { argument: "entries[0].announcedFrom" } },
  ],
  [
    "a mistake of a part",
    () => {
      throw below("keys", new ConfigurationError("entries", "expected a list"));
    },
    { argument: "entries" },
  ],
  ["a time that is none", () => instantOf("--at", "soon"), expect.any(Error)],
  ["a secret that is not there", () => secret(`file:${within("none")}`), { code: "ENOENT" }],
  ["a secret on another host", () => secret("file://host/a"), { code: "ERR_INVALID_FILE_URL_HOST" }],
  ["a key set that is not there", () => openKeySource("none.json", undefined, folder.path), { code: "ENOENT" }],
  ["a key set without a key", () => openKeySource("unusable.json", undefined, folder.path), expect.any(VerifyError)],
  [
    "a configuration that cannot be replaced",
    () => replaceFile(within("none/a.json"), new Uint8Array(), new Uint8Array()),
    { code: "ENOENT" },
  ],
  [
    "a file that cannot be written",
    () => writeFiles(within("file"), [{ path: "a", content: "b" }]),
    { code: "ENOTDIR" },
  ],
])("%s", async (_what, fail, cause) => {
  const error: unknown = await Promise.resolve()
    .then(fail)
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(Error);
  expect(error).toMatchObject({ cause });
});
