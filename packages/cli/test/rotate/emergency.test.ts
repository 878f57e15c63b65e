import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "vitest";
import { runApp } from "../support/run-app.ts";
import type { CliResult } from "../support/run-cli.ts";
import { runOnTerminal } from "../support/terminal.ts";
import { expectTranscript } from "../support/transcript.ts";
import { configOf, configText, ENTRIES, FROZEN, frozenFolder, NOW, rotationFolder } from "./support.ts";

const { path, rotate, spawned, file, read } = frozenFolder();

function emergency(args: readonly string[]): Promise<CliResult> {
  return rotate("emergency", ...args);
}

/** The roles of the keys that a configuration publishes now. */
async function published(name: string): Promise<readonly string[]> {
  const { stdout } = await runApp(["jwks", "--json", "--config", name], { cwd: path() });
  return JSON.parse(stdout).keys.map(({ kid, role }: Record<string, string>) => `${kid} ${role}`);
}

test("--dry-run says what breaks and until when, and writes nothing", async () => {
  await using narrow = await rotationFolder();
  const text = JSON.stringify(configOf(), undefined, 2);
  await narrow.write("signpost.config.json", text);
  const args = ["rotate", "emergency", "sig-2026-01", "--dry-run"];
  const { code, stderr } = await expectTranscript("rotate-emergency", args, { cwd: narrow.path, env: FROZEN });
  expect({ code, stderr: stripVTControlCharacters(stderr) }).toEqual({
    code: 0,
    stderr: "✓ sig-2026-07 signed and verified a probe\nNothing was written.\n",
  });
  expect(await readFile(join(narrow.path, "signpost.config.json"), "utf8")).toBe(text);
});

test("--yes withdraws the key that signs, and the next one signs in its place", async () => {
  const { code, stderr } = await spawned(["emergency", "sig-2026-01", ...(await file("active.json")), "--yes"]);
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: [
      "✓ sig-2026-07 signed and verified a probe",
      "✓ wrote active.json",
      "  1. Disable sig-2026-01 in its backend, if an attacker can use it there.",
      "  2. Roll this file out to every replica. Do not run the command on each: all need the same times.",
      "  3. Refresh each shared cache: curl -H 'Cache-Control: no-cache' https://op.example/jwks",
      "  4. Tell the relying parties. Some trust the key until they are restarted: see docs/emergency.md",
      "",
    ].join("\n"),
  });
  expect(await published("active.json")).toEqual(["sig-2026-07 active"]);
  const kept = configText()
    .split("\n")
    .filter((line) => !line.includes("sig-2026-01"))
    .map((line) =>
      line.replace(
        '"announcedFrom": "2026-07-01T08:00:00Z", "activeFrom": "2026-07-01T14:00:00Z" }',
        '"announcedFrom": "2026-07-01T08:00:00Z", "activeFrom": "2026-01-01T00:00:00Z", "emergencyAt": "2026-07-01T09:00:00Z" }',
      ),
    );
  expect((await read("active.json")).split("\n")).toEqual(kept);
});

test("an announced key is withdrawn, and the key that signs goes on", async () => {
  const { code, stdout } = await emergency(["sig-2026-07", ...(await file("announced.json")), "--yes", "--json"]);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    written: true,
    withdrawn: "sig-2026-07",
    signs: "sig-2026-01",
    tokensAliveUntil: null,
    breaks: [
      "kid sig-2026-07: it will not become active; a relying party may trust it until 2026-07-01T13:00:00Z, when every cache has the new set, or until it restarts if it keeps each key by its kid",
    ],
    entries: [{ ...ENTRIES[0], emergencyAt: NOW }],
  });
  expect(await published("announced.json")).toEqual(["sig-2026-01 active"]);
});

test("a retiring key is withdrawn, with the time when its last token expires", async () => {
  const retired = { ...ENTRIES[0], announcedFrom: "2025-01-01T00:00:00Z", activeFrom: "2025-01-01T00:00:00Z" };
  const signing = { ...ENTRIES[1], announcedFrom: "2026-06-01T00:00:00Z", activeFrom: "2026-07-01T08:30:00Z" };
  const args = await file("retiring.json", configOf([retired, signing]));
  const { stdout } = await emergency(["sig-2026-01", ...args, "--yes", "--json"]);
  expect(JSON.parse(stdout)).toMatchObject({ signs: "sig-2026-07", tokensAliveUntil: "2026-07-01T09:30:00Z" });
  expect(await published("retiring.json")).toEqual(["sig-2026-07 active"]);
});

describe("a new key signs in the place of the withdrawn one", () => {
  const fresh = ["--signer", "local:c.pem", "--key-id", "spare"];

  test("and takes its place in the file", async () => {
    const args = await file("fresh.json", configText(ENTRIES.slice(0, 1)));
    expect(await emergency(["sig-2026-01", ...args, ...fresh, "--yes"])).toMatchObject({ code: 0 });
    expect(JSON.parse(await read("fresh.json")).keys.entries).toEqual([
      {
        keyId: "spare",
        signer: "local:c.pem",
        announcedFrom: NOW,
        activeFrom: "2026-01-01T00:00:00Z",
        emergencyAt: NOW,
      },
    ]);
    expect(await published("fresh.json")).toEqual(["spare active"]);
    const order = ["keyId", "signer", "announcedFrom", "activeFrom", "emergencyAt"];
    expect(await read("fresh.json")).toMatch(new RegExp(order.map((name) => `"${name}": "[^"]+"`).join(", ")));
  });

  test("even if the backend of the withdrawn one is away, which is said", async () => {
    const text = configText(ENTRIES.slice(0, 1)).replace("local:a.pem", "local:away.pem");
    const { code, stderr } = await emergency(["sig-2026-01", ...(await file("stolen.json", text)), ...fresh, "--yes"]);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^! not compared with sig-2026-01: /);
    expect(await published("stolen.json")).toEqual(["spare active"]);
  });

  test.each([
    [
      "that the schedule has under another URI",
      ["sig-2026-01", "--signer", "local:./b.pem"],
      "--signer: expected a new key, got the key of entries[1]",
    ],
    [
      "that is the withdrawn one",
      ["sig-2026-01", "--signer", "local:a.pem"],
      "--signer: expected a new key, got the key of entries[0]",
    ],
    ["that does not open", ["sig-2026-01", "--signer", "local:away.pem"], "--signer: "],
    ["that is not needed", ["sig-2026-07", ...fresh], "--signer: remove it: the revoked key is not active"],
    [
      "whose kid is taken",
      ["sig-2026-01", "--signer", "local:c.pem", "--key-id", "sig-2026-07"],
      "--signer: expected a new kid",
    ],
    ["without its URI", ["sig-2026-01", "--key-id", "x"], "--key-id names the key of --signer, which is missing"],
  ])("but not one %s", async (_name, args, message) => {
    const { code, stderr } = await emergency([...args, "--yes"]);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
    expect(await read("signpost.config.json")).toBe(configText());
  });
});

describe("nothing is withdrawn if", () => {
  test("no other key of the schedule can sign", async () => {
    const args = await file("only.json", configText(ENTRIES.slice(0, 1)));
    expect(await emergency(["sig-2026-01", ...args, "--yes"])).toMatchObject({
      code: 2,
      stderr: [
        "error No other key of the schedule can sign, so nothing is withdrawn",
        "hint  Name a new key with --signer URI. signpost keygen makes one",
        "",
      ].join("\n"),
    });
  });

  test("the next key does not open", async () => {
    const text = configText().replace("local:b.pem", "local:away.pem");
    const { code, stderr } = await emergency(["sig-2026-01", ...(await file("away.json", text)), "--yes"]);
    expect(code).toBe(2);
    expect(stderr).toContain("error sig-2026-07 would sign, and cannot: ");
    expect(stderr).toContain("Nothing is withdrawn. Name another key with --signer URI");
    expect(await read("away.json")).toBe(text);
  });

  test("no entry has the kid, and the known ones are named", async () => {
    const { code, stderr } = await emergency(["sig-2026-02", "--yes"]);
    expect(code).toBe(2);
    expect(stderr).toContain('No entry has the kid "sig-2026-02"\nhint  The keys are sig-2026-01, sig-2026-07');
  });

  test("there is no terminal to ask at", async () => {
    expect(await emergency(["sig-2026-01"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("There is no terminal to ask before the file is written"),
    });
  });

  test("keys is a list, unless a schedule may be made of it", async () => {
    const list = { issuer: "https://op.example", keys: [{ keyId: "a", signer: "local:a.pem" }] };
    const args = ["a", ...(await file("list.json", list)), "--signer", "local:c.pem", "--key-id", "c", "--yes"];
    expect(await emergency(args)).toMatchObject({ code: 2, stderr: expect.stringContaining("keys is a list") });
    expect(await emergency([...args, "--max-token-lifetime", "600"])).toMatchObject({ code: 0 });
    expect(await published("list.json")).toEqual(["c active"]);
  });
});

test("at a terminal it says what breaks before it asks, and Ctrl-C withdraws nothing", async () => {
  const typed = { question: "Withdraw sig-2026-01, and write", answer: "\u0003" };
  const options = { cwd: path(), env: FROZEN };
  const { code, shown } = await runOnTerminal(["rotate", "emergency", "sig-2026-01"], typed, options);
  expect(code).toBe(130);
  expect(shown.indexOf("What this breaks")).toBeGreaterThan(0);
  expect(shown.indexOf("What this breaks")).toBeLessThan(shown.indexOf(typed.question));
  expect(await read("signpost.config.json")).toBe(configText());
});

test("the withdrawn key is not opened: its backend may be away", async () => {
  const text = configText().replace("local:a.pem", "awskms://127.0.0.1:9/alias/away");
  expect(await emergency(["sig-2026-01", ...(await file("gone.json", text)), "--yes"])).toMatchObject({ code: 0 });
  expect(await published("gone.json")).toEqual(["sig-2026-07 active"]);
});

test("a key whose kid is its thumbprint is found by it", async () => {
  const entries = ENTRIES.map(({ keyId: _kid, ...entry }) => entry);
  const kid = (await runApp(["kid", "local:b.pem"], { cwd: path() })).stdout.trim();
  const { code, stdout } = await emergency([
    kid,
    ...(await file("thumb.json", configText(entries))),
    "--yes",
    "--json",
  ]);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ withdrawn: kid, signs: "local:a.pem" });
  expect(JSON.parse(await read("thumb.json")).keys.entries).toEqual([{ ...entries[0], emergencyAt: NOW }]);
});

test("a configuration that is code is not changed: the schedule is printed", async () => {
  const text = `export default ${JSON.stringify(configOf())};`;
  const { code, stdout, stderr } = await emergency(["sig-2026-01", ...(await file("code.mjs", text))]);
  expect(code).toBe(0);
  expect(stderr).toContain("code.mjs is code, and is not changed. Write this as keys:");
  expect(JSON.parse(stdout).entries).toMatchObject([{ keyId: "sig-2026-07", emergencyAt: NOW }]);
  expect(await read("code.mjs")).toBe(text);
});

test("a second emergency works on what the first one wrote", async () => {
  const third = { ...ENTRIES[1], keyId: "third", signer: "local:c.pem", activeFrom: "2026-08-01T00:00:00Z" };
  const args = await file("twice.json", configText([...ENTRIES, third]));
  expect(await emergency(["sig-2026-01", ...args, "--yes"])).toMatchObject({ code: 0 });
  expect(await emergency(["sig-2026-07", ...args, "--yes"])).toMatchObject({ code: 0 });
  expect(await published("twice.json")).toEqual(["third active"]);
});
