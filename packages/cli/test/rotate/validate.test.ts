import { generateKeyPairSync } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { KeyFolder } from "../support/key-folder.ts";
import { runApp } from "../support/run-app.ts";
import { runCli, type CliResult } from "../support/run-cli.ts";
import { expectTranscript } from "../support/transcript.ts";
import { configOf, ENTRIES, FROZEN, rotationFolder } from "./support.ts";

let folder: KeyFolder;
const issuer = "https://op.example";
const [first, second] = ENTRIES;

beforeAll(async () => {
  folder = await rotationFolder();
});
afterAll(() => folder[Symbol.asyncDispose]());

interface Found {
  readonly level: string;
  readonly rule: string;
  readonly path: string;
  readonly text: string;
  readonly todo?: string;
}

/** Relative to the clock of this machine. */
const days = (count: number): string => new Date(Date.now() + count * 86_400_000).toISOString();
const hours = (count: number): string => days(count / 24);

function key(keyId: string, announcedFrom: string, activeFrom: string, more: object = {}): object {
  return { keyId, signer: `local:${keyId}.pem`, announcedFrom, activeFrom, ...more };
}

async function validate(config: unknown, ...args: readonly string[]): Promise<CliResult & { found: readonly Found[] }> {
  await folder.write("checked.json", config);
  const result = await runApp(["rotate", "validate", "--config", "checked.json", "--json", ...args], {
    cwd: folder.path,
  });
  const { findings = [] } = JSON.parse(result.stdout);
  return { ...result, found: findings };
}

/** Paths and rules. */
function short(found: readonly Found[]): readonly string[] {
  return found.map(({ level, rule, path }) => `${level} ${rule} ${path}`);
}

test("a configuration without a mistake is named, and the exit code is 0", async () => {
  const args = ["rotate", "validate"];
  expect(await runCli(args, { cwd: folder.path, env: FROZEN })).toEqual({
    code: 0,
    stdout: "signpost.config.json: nothing to do\n",
    stderr: "",
  });
});

test("every mistake is listed with its path and the nearest known name, and the exit code is 2", async () => {
  await folder.write("mistakes.json", {
    issur: issuer,
    mountPrefix: "oidc/",
    keys: {
      maxTokenLifetimeSecond: 3600,
      announceHours: 1,
      entries: [
        { ...first, keyid: "a" },
        { ...second, signer: "awskm:///alias/op", activeFrom: "2026-07-01T10:00:00Z" },
        { keyId: "c", announcedFrom: "2026-07-02", activeFrom: "2026-08-01T00:00:00Z" },
      ],
    },
    encryptionKeyset: [{ publicKey: { kty: "oct" } }],
    adapters: { pkcs12: {}, pkcs11: { pin: "secret-1234", allowPinValue: true } },
  });
  const args = ["rotate", "validate", "--config", "mistakes.json"];
  const { code, stdout, stderr } = await expectTranscript("rotate-validate", args, { cwd: folder.path, env: FROZEN });
  expect({ code, stderr }).toEqual({ code: 2, stderr: "" });
  expect(stdout).not.toContain("secret-1234");
});

test("--json has each mistake", async () => {
  const { code, found, stdout } = await validate({ issuer: 7, keys: [{ keyId: 7 }, "x"], legacyVerificationKeys: {} });
  expect(code).toBe(2);
  expect(JSON.parse(stdout)).toMatchObject({ file: "checked.json", ok: false });
  expect(found.map(({ path, text }) => `${path}: ${text}`)).toEqual([
    "issuer: expected a URL, got 7",
    "keys[0]: expected either a signer or a publicKey, got neither",
    "keys[1]: expected an object, got a string",
    "legacyVerificationKeys: expected a list, got an object",
  ]);
});

test.each([
  ["a list whose first key has no signer", { issuer, keys: [publicEntry()] }, ["keys[0]"]],
  ["a kid that is there twice", { issuer, keys: [{ keyId: "a", signer: "local:a" }, publicEntry("a")] }, ["keys"]],
  ["no keys", { issuer, keys: [] }, ["keys"]],
  ["a schedule without entries", { issuer, keys: { maxTokenLifetimeSeconds: 1, entries: [] } }, ["keys.entries"]],
  ["a file that is a list", [], [""]],
  ["an http issuer", { issuer: "http://op.example", keys: [{ signer: "local:a" }] }, ["issuer"]],
  [
    "a schedule alone",
    { entries: [{ ...first, activeFrom: 7 }], maxTokenLifetimeSeconds: "1h", x: 1 },
    ["entries[0].activeFrom", "maxTokenLifetimeSeconds", "x"],
  ],
])("%s is a mistake", async (_name, config, paths) => {
  const { code, found } = await validate(config);
  expect(found.map(({ level, path }) => `${level} ${path}`)).toEqual(paths.map((path) => `mistake ${path}`));
  expect(code).toBe(2);
});

function publicEntry(keyId = "p"): object {
  const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return { keyId, publicKey: publicKey.export({ format: "jwk" }) };
}

test("text that is not JSON, and a file that is missing, have the exit code 2", async () => {
  const args = (name: string): string[] => ["rotate", "validate", "--config", name];
  await folder.write("broken.json", "{");
  expect(await runApp(args("broken.json"), { cwd: folder.path })).toMatchObject({ code: 2 });
  expect(await runApp(args("away.json"), { cwd: folder.path })).toMatchObject({ code: 2 });
});

test("needs no backend, no adapter and no secret, and asks for none", async () => {
  const entry = { ...first, signer: "pkcs11:token=away;object=a?module-path=/away.so&pin-source=prompt:" };
  const config = { ...configOf([entry]), adapters: { vault: { auth: { method: "token", token: "env:AWAY" } } } };
  expect(short((await validate(config)).found)).toEqual(["note next-key keys.entries"]);
});

describe("a warning has the exit code 1", () => {
  const now = (): object => key("a", days(-100), days(-100));

  test("announced-late: relying parties keep a set for longer than the headers say", async () => {
    const config = configOf([now(), key("b", hours(1), hours(7))]);
    expect(short((await validate(config, "--longest-cache", "4")).found)).toEqual([]);
    const { code, found } = await validate(config, "--longest-cache", "24");
    expect(code).toBe(1);
    expect(short(found)).toEqual(["warning announced-late keys.entries[1].activeFrom"]);
  });

  test("announced-late: an emergency let the key sign before every cache has it", async () => {
    const taken = key("b", hours(-1), days(-100), { emergencyAt: hours(-1) });
    const { found } = await validate(configOf([key("a", days(-300), days(-300)), taken]));
    expect(short(found)).toEqual(["warning announced-late keys.entries[1].activeFrom", "note next-key keys.entries"]);
    expect(found[0]?.todo).toBe(
      "Nothing, if this was an emergency. A relying party that refetches for an unknown kid refuses its tokens for minutes at most",
    );
    const alone = await validate(configOf([taken]));
    expect(short(alone.found)).toEqual([
      "warning announced-late keys.entries[0].activeFrom",
      "note next-key keys.entries",
    ]);
  });

  test("emergency-ahead: a copied emergencyAt turns the announcement rule off", async () => {
    const { found } = await validate(configOf([now(), key("b", hours(5), hours(6), { emergencyAt: hours(7) })]));
    expect(short(found)).toEqual([
      "warning announced-late keys.entries[1].activeFrom",
      "warning emergency-ahead keys.entries[1].emergencyAt",
    ]);
  });

  test("withdrawn-early: tokens live for longer than the schedule knows", async () => {
    const config = configOf([now(), key("b", hours(1), hours(7))]);
    const { found } = await validate(config, "--longest-token", "86400");
    expect(short(found)).toEqual(["warning withdrawn-early keys.maxTokenLifetimeSeconds"]);
    expect(found[0]?.text).toContain("23 h before its last token has expired");
    expect(short((await validate(config, "--longest-token", "3600")).found)).toEqual([]);
  });

  test("next-key: all keys are in the past, or the next one is too far away", async () => {
    expect(short((await validate(configOf([now()]))).found)).toEqual(["note next-key keys.entries"]);
    const none = await validate(configOf([now()]), "--next-within", "30");
    expect({ code: none.code, found: short(none.found) }).toEqual({
      code: 1,
      found: ["warning next-key keys.entries"],
    });
    expect(none.found[0]?.text).toContain("All keys are in the past");
    const far = configOf([now(), key("b", days(40), days(41))]);
    expect(short((await validate(far, "--next-within", "30")).found)).toEqual(["warning next-key keys.entries"]);
    expect(short((await validate(far, "--next-within", "50")).found)).toEqual([]);
    const list = await validate({ issuer, keys: [{ signer: "local:a.pem" }] }, "--next-within", "30");
    expect(short(list.found)).toEqual(["warning next-key keys"]);
  });
});

describe("--previous judges the change from the file that is in use", () => {
  async function change(before: unknown, after: unknown): Promise<readonly string[]> {
    await folder.write("in-use.json", before);
    const { found } = await validate(after, "--previous", "in-use.json");
    return short(found.filter(({ rule }) => rule !== "next-key"));
  }
  const active = key("a", days(-100), days(-100));
  const next = key("b", days(-1), days(2));

  test("no change has no warning", async () => {
    expect(await change(configOf([active, next]), configOf([active, next]))).toEqual([]);
    const list = { issuer, keys: [{ keyId: "a", signer: "local:a.pem" }] };
    expect(await change(list, list)).toEqual([]);
  });

  test("announced-late: the file says that a new key was announced in the past, and nothing published it", async () => {
    const late = key("b", hours(-10), hours(1));
    expect(await change(configOf([active]), configOf([active, late]))).toEqual([
      "warning announced-late keys.entries[1].activeFrom",
    ]);
    expect(await change(configOf([active]), configOf([active, key("b", hours(-10), hours(10))]))).toEqual([]);
    expect(await change(configOf([active]), configOf([active, key("b", hours(1), hours(10))]))).toEqual([]);
  });

  test("announced-late: the file says that a key was announced before the older file published it", async () => {
    const [shown, moved] = [key("b", hours(-1), hours(10)), key("b", hours(-5), hours(0.5))];
    expect(await change(configOf([active, shown]), configOf([active, moved]))).toEqual([
      "warning announced-late keys.entries[1].activeFrom",
    ]);
    expect(await change(configOf([active, shown]), configOf([active, key("b", hours(-5), hours(10))]))).toEqual([]);
    const earlier = key("a", days(-101), days(-100));
    expect(await change(configOf([active]), configOf([earlier]))).toEqual([]);
  });

  test("announced-late: a key that was withdrawn signs again, as after a file was put back", async () => {
    const withdrawn = configOf([active, key("b", days(-3), days(-2))]);
    expect(await change(withdrawn, configOf([active]))).toContain("warning announced-late keys.entries[0].activeFrom");
    expect(await change(withdrawn, withdrawn)).toEqual([]);
  });

  test("removed: the tokens of a key that has signed are still valid", async () => {
    const retired = configOf([active, key("b", days(-1), hours(-0.5))]);
    expect(await change(retired, configOf([key("b", days(-1), hours(-0.5))]))).toEqual([
      "warning removed keys.entries",
    ]);
    expect(await change(configOf([active, next]), configOf([active]))).toEqual([]);
    const withdrawn = configOf([active, key("b", days(-3), days(-2))]);
    expect(await change(withdrawn, configOf([key("b", days(-3), days(-2))]))).toEqual(["note removed keys.entries"]);
  });

  test("withdrawn-early: tokens live for less time than those that are in use", async () => {
    const signed = [active, key("b", days(-1), hours(-0.5))];
    const before = configOf(signed, { maxTokenLifetimeSeconds: 7200 });
    expect(await change(before, configOf(signed))).toEqual(["warning withdrawn-early keys.entries[0]"]);
  });

  test("gap: a key that is published would be hidden again", async () => {
    const later = key("b", days(1), days(2));
    expect(await change(configOf([active, next]), configOf([active, later]))).toEqual([
      "warning gap keys.entries[1].announcedFrom",
    ]);
  });

  test("signer-changed: a kid has another signer", async () => {
    const other = { ...active, signer: "local:other.pem" };
    expect(await change(configOf([active]), configOf([other]))).toEqual(["note signer-changed keys.entries[0].signer"]);
  });

  test("a mistake in the older file is a mistake of usage", async () => {
    await folder.write("in-use.json", configOf([]));
    const { code, stderr } = await validate(configOf([active]), "--previous", "in-use.json");
    expect(code).toBe(2);
    expect(stderr).toContain("in-use.json: keys.entries: expected at least one entry");
  });
});

test.each([
  ["--next-within", "0"],
  ["--longest-cache", "1.5"],
  ["--longest-token", "-1"],
])("%s %s is a mistake of usage", async (flag, value) => {
  const { code, stderr } = await runApp(["rotate", "validate", flag, value], { cwd: folder.path });
  expect(code).toBe(2);
  expect(stderr).toContain("expected a whole number from 1");
});
