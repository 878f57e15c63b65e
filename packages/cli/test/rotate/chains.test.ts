import { describe, expect, test } from "vitest";
import { refusedChains, withCertificateFiles } from "../../src/rotate/chains.ts";
import { checkSource, type SourceFile } from "../../src/rotate/source.ts";

const NOW = Date.parse("2026-07-01T09:00:00Z");
const ENTRY = { signer: "local:a.pem", announcedFrom: "2026-01-01T00:00:00Z", activeFrom: "2026-01-01T00:00:00Z" };
const SCHEDULE = { maxTokenLifetimeSeconds: 3600, entries: [{ ...ENTRY, certificates: { chain: "file:away.pem" } }] };

function fileOf(value: unknown, isBare: boolean): SourceFile {
  return { path: "/config.json", name: "config.json", bytes: undefined, value, isBare };
}

describe("a chain that cannot be read", () => {
  test.each([
    ["of a configuration", fileOf({ issuer: "https://op.example", keys: SCHEDULE }, false), "keys.entries[0]"],
    ["of a schedule alone", fileOf(SCHEDULE, true), "entries[0]"],
  ])("%s is refused at its place", async (_where, file, place) => {
    const source = await checkSource(file);
    const problems = await refusedChains(source, SCHEDULE, NOW, "/nowhere");
    expect(problems).toEqual([expect.stringContaining(`the OP refuses the file: ${place}.certificates.chain: `)]);
  });

  test.each([
    [
      "of a configuration",
      fileOf({ keys: SCHEDULE }, false),
      "keys.entries[0]",
      { keys: { ...SCHEDULE, entries: [ENTRY] } },
    ],
    ["of a schedule alone", fileOf(SCHEDULE, true), "entries[0]", { ...SCHEDULE, entries: [ENTRY] }],
    ["of a list", fileOf({ keys: SCHEDULE.entries }, false), "keys[0]", { keys: [ENTRY] }],
  ])("%s leaves its entry without certificates", async (_where, file, place, value) => {
    const read = await withCertificateFiles(file, "/nowhere");
    expect(read.file).toEqual({ ...file, value });
    expect(read.unread.map(({ argument }) => argument)).toEqual([`${place}.certificates.chain`]);
  });
});

test.each([
  ["no keys", { issuer: "https://op.example" }],
  ["a list of what is no entry", { keys: [7, null, { certificates: "a.pem" }] }],
  ["keys that are no list", { keys: 7 }],
  ["nothing", null],
])("a file with %s is left as it is", async (_what, value) => {
  const file = fileOf(value, false);
  expect(await withCertificateFiles(file, "/nowhere")).toEqual({ file, unread: [] });
});
