import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkSource, entriesPath, readSource } from "../../src/rotate/source.ts";
import { recordingContext } from "../support/recording-context.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "signpost-source-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function fileWith(value: unknown, name = "file.json") {
  const text = name.endsWith(".json") ? JSON.stringify(value) : `export default ${JSON.stringify(value)};`;
  await writeFile(join(folder, name), text);
  return readSource(recordingContext(folder), name);
}

const SCHEDULE = {
  maxTokenLifetimeSeconds: 60,
  entries: [{ signer: "local:a.pem", announcedFrom: "2026-01-01T00:00:00Z" }],
};

describe("a file is a schedule alone", () => {
  test.each([
    ["with entries", SCHEDULE, true],
    ["with entries only", { entries: [] }, true],
    ["not with keys too", { ...SCHEDULE, keys: [] }, false],
    ["not with an issuer too", { ...SCHEDULE, issuer: "https://op.example" }, false],
    ["not with keys and an issuer", { issuer: "https://op.example", keys: SCHEDULE }, false],
    ["not without entries", { maxTokenLifetimeSeconds: 60 }, false],
    ["not as a list", [], false],
    ["not as null", null, false],
    ["not as a text", "entries", false],
  ])("%s", async (_what, value, expected) => {
    const { bytes, ...file } = await fileWith(value);
    expect(file).toEqual({ isBare: expected, value, name: "file.json", path: join(folder, "file.json") });
    expect(Buffer.from(bytes ?? []).toString()).toBe(JSON.stringify(value));
  });

  test("and may be code, whose bytes are not kept", async () => {
    expect(await fileWith(SCHEDULE, "file.mjs")).toMatchObject({ isBare: true, value: SCHEDULE, bytes: undefined });
  });

  test("or its other members are refused as those of a configuration", async () => {
    const both = await fileWith({ ...SCHEDULE, issuer: "https://op.example" });
    await expect(checkSource(both)).rejects.toThrow("file.json: maxTokenLifetimeSeconds: unknown option");
  });
});

test.each([
  ["a list", [], false, "keys"],
  ["a list, whatever the file is", [], true, "keys"],
  ["a schedule", { entries: [] }, false, "keys.entries"],
  ["a schedule alone", { entries: [] }, true, "entries"],
])("the entries of %s are at their place", (_what, keys, isBare, path) => {
  expect(entriesPath({ file: { isBare }, keys: keys as never })).toBe(path);
});
