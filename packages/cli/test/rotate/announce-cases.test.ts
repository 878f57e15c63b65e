import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { runApp } from "../support/run-app.ts";
import type { CliResult } from "../support/run-cli.ts";
import { configOf, configText, ENTRIES, frozenFolder } from "./support.ts";

const { path, rotate, spawned, file, read } = frozenFolder();
/** What the new key is called. */
const NEW = ["--signer", "local:c.pem", "--key-id", "sig-2027-01"];
const LINE =
  '      { "keyId": "sig-2027-01", "signer": "local:c.pem", "announcedFrom": "2026-07-01T10:00:00Z", "activeFrom": "2026-07-01T14:01:00Z" }';

function announce(args: readonly string[]): Promise<CliResult> {
  return rotate("announce", ...args);
}

describe("a list of keys", () => {
  const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const list = [
    { keyId: "a", signer: "local:a.pem" },
    { keyId: "old", publicKey: publicKey.export({ format: "jwk" }) },
  ];
  const config = { issuer: "https://op.example", keys: list };

  test("is refused with what to write", async () => {
    const { code, stderr } = await announce([...NEW, ...(await file("list.json", config)), "--yes"]);
    expect(code).toBe(2);
    expect(stderr).toContain("list.json: keys is a list");
    expect(stderr).toContain("--max-token-lifetime SECONDS");
  });

  test("becomes a schedule when told, which publishes the same keys in the same order", async () => {
    const args = [...NEW, ...(await file("made.json", config))];
    const published = async (): Promise<string> =>
      (await runApp(["jwks", "--config", "made.json"], { cwd: path() })).stdout;
    const before = await published();
    expect(await announce([...args, "--max-token-lifetime", "3600", "--yes"])).toMatchObject({ code: 0 });
    expect(await published()).toBe(before);
    const { keys } = JSON.parse(await read("made.json"));
    expect(keys.maxTokenLifetimeSeconds).toBe(3600);
    expect(keys.entries.map(({ keyId, activeFrom }: Record<string, string>) => `${keyId} ${activeFrom}`)).toEqual([
      "a 2026-07-01T08:59:00Z",
      "old 2026-07-01T08:58:59Z",
      "sig-2027-01 2026-07-01T14:01:00Z",
    ]);
    expect(
      await runApp(["rotate", "announce", ...args, "--max-token-lifetime", "60", "--dry-run"], { cwd: path() }),
    ).toMatchObject({ code: 2, stderr: expect.stringContaining("there is a schedule") });
  });
});

describe("a configuration that is code", () => {
  test.each(["mjs", "ts"])("in .%s is never written: the entry is printed", async (extension) => {
    const text = `export default ${JSON.stringify(configOf())};`;
    const args = [...NEW, ...(await file(`code.${extension}`, text))];
    const { code, stdout, stderr } = await announce([...args, "--yes"]);
    if (extension === "ts" && !Reflect.get(process.features, "typescript")) return expect(code).toBe(2);
    expect(code).toBe(0);
    expect(stderr).toContain(`code.${extension} is code, and is not changed. Add this to keys.entries:`);
    expect(JSON.parse(stdout)).toEqual(JSON.parse(LINE));
    expect(await read(`code.${extension}`)).toBe(text);
  });

  test("with --json prints only JSON, and the whole schedule for a list", async () => {
    const list = { issuer: "https://op.example", keys: [{ keyId: "a", signer: "local:a.pem" }] };
    const args = [...NEW, ...(await file("list.mjs", `export default ${JSON.stringify(list)};`))];
    const machine = await announce([...args, "--max-token-lifetime", "60", "--json"]);
    expect(JSON.parse(machine.stdout)).toMatchObject({
      file: "list.mjs",
      written: false,
      entries: [{ keyId: "a", activeFrom: "2026-07-01T08:59:00Z" }, { keyId: "sig-2027-01" }],
    });
    const { stdout, stderr } = await announce([...args, "--max-token-lifetime", "60"]);
    expect(stderr).toContain("Write this as keys:");
    expect(JSON.parse(stdout)).toMatchObject({ maxTokenLifetimeSeconds: 60 });
  });
});

describe("nothing is written if", () => {
  test.each([
    ["the key does not open", ["--signer", "local:away.pem"], "--signer: "],
    ["the key is in the schedule", ["--signer", "local:a.pem"], "expected a different key, got the key of entries[0]"],
    ["the kid is in the schedule", ["--signer", "local:c.pem", "--key-id", "sig-2026-07"], "each keyId must be unique"],
    ["it would sign too early", [...NEW, "--active-from", "2026-07-01T12:00:00Z"], "expected 2026-07-01T14:01:00.000Z"],
    [
      "it was announced in the past",
      [...NEW, "--announced-from", "2026-07-01T08:00:00Z"],
      "2026-07-01T08:00:00Z is over",
    ],
    [
      "another key begins at that time",
      [...NEW, "--announced-from", "2026-07-01T09:00:00Z", "--active-from", "2026-07-01T14:00:00Z"],
      "must differ from the activeFrom of entries[1]",
    ],
    ["a time has no zone", [...NEW, "--active-from", "2026-07-02T12:00:00"], "error --active-from: expected a date"],
    [
      "the time of the announcement has no zone",
      [...NEW, "--announced-from", "2026-07-02T12:00:00"],
      "error --announced-from: expected a date",
    ],
    ["the URI has no backend", ["--signer", "pkcs12:a"], "begins with the scheme of no backend"],
  ])("%s", async (_name, args, message) => {
    const { code, stderr } = await announce([...args, "--yes"]);
    expect(stderr).toContain(message);
    expect([2, 3]).toContain(code);
    expect(await read("signpost.config.json")).toBe(configText());
  });

  const AWAY = [...ENTRIES.slice(0, 1), { ...ENTRIES[1], signer: "local:away.pem" }];
  test.each([
    ["of the schedule", configOf(AWAY), [], "keys.entries[1].signer"],
    ["of a file that is a schedule alone", { maxTokenLifetimeSeconds: 3600, entries: AWAY }, [], "entries[1].signer"],
    [
      "of a list that becomes a schedule",
      { issuer: "https://op.example", keys: [{ signer: "local:a.pem" }, { signer: "local:away.pem" }] },
      ["--max-token-lifetime", "3600"],
      "keys[1].signer",
    ],
  ])("another key %s does not open, which is named", async (_where, config, args, place) => {
    const { code, stderr } = await announce([...NEW, ...(await file("other.json", config)), ...args, "--yes"]);
    expect(stderr).toContain(` other.json: ${place}: `);
    expect([2, 3]).toContain(code);
  });

  test("the configuration has a mistake, whose path is named", async () => {
    const config = configOf([{ ...ENTRIES[0], keyid: "x" }]);
    expect(await announce([...NEW, ...(await file("typo.json", config)), "--yes"])).toMatchObject({
      code: 2,
      stderr: "error typo.json: keys.entries[0].keyid: unknown option; did you mean keyId?\n",
    });
  });

  test("the backend is away", async () => {
    const env = { AWS_REGION: "eu-west-1", AWS_ACCESS_KEY_ID: "test", AWS_SECRET_ACCESS_KEY: "test" };
    const args = ["--signer", "awskms://127.0.0.1:9/alias/op", "--yes"];
    const { code, stdout, stderr } = await spawned(["announce", ...args], env);
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(stderr).toContain("error --signer: ");
  });
});
