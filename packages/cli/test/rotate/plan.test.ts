import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { frozenAt } from "../support/frozen-clock.ts";
import type { KeyFolder } from "../support/key-folder.ts";
import { runApp } from "../support/run-app.ts";
import { ended, runCli, startCli, type CliResult } from "../support/run-cli.ts";
import { runOnTerminal } from "../support/terminal.ts";
import { expectTranscript } from "../support/transcript.ts";
import { configOf, ENTRIES, FROZEN, NOW, rotationFolder } from "./support.ts";

let folder: KeyFolder;

beforeAll(async () => {
  folder = await rotationFolder();
});
afterAll(() => folder[Symbol.asyncDispose]());

function plan(...args: readonly string[]): Promise<CliResult> {
  return runApp(["rotate", "plan", ...args], { cwd: folder.path });
}

test("plan draws the life of each key, and lists the exact times", async () => {
  const { code, stderr } = await expectTranscript("rotate-plan", ["rotate", "plan"], { cwd: folder.path, env: FROZEN });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
});

test("plan is readable at 80 columns, and without color", async () => {
  const options = { cwd: folder.path, env: { ...FROZEN, NO_COLOR: "1" }, columns: 80 };
  const { code, shown } = await runOnTerminal(["rotate", "plan"], { question: "never", answer: "" }, options);
  expect(code).toBe(0);
  expect(stripVTControlCharacters(shown)).toBe(shown);
  expect(shown.split("\r\n").filter((line) => line.length > 80)).toEqual([]);
  expect(shown.replaceAll("\r\n", "\n")).toMatchSnapshot();
});

test("--at shows another time, and opens no keys", async () => {
  await folder.write(
    "away.json",
    configOf(ENTRIES.map((entry, index) => ({ ...entry, signer: `local:away-${index}.pem` }))),
  );
  const { code, stdout } = await plan("--config", "away.json", "--at", "2026-07-01T16:01:00+01:00");
  expect(code).toBe(0);
  expect(stdout.split("\n").slice(0, 3)).toEqual([
    "away.json",
    "at    2026-07-01T15:01:00Z  sig-2026-07 signs, sig-2026-01 is retiring, cached for 5 min",
    "next  2026-07-01T15:02:00Z  in 1 min: sig-2026-01 is withdrawn",
  ]);
});

test("--json has each time of each key, also of those that are over, and each change", async () => {
  const { code, stdout } = await plan("--json", "--at", "2026-12-01T00:00:00Z");
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual({
    at: "2026-12-01T00:00:00Z",
    cacheMode: "long",
    nextChange: null,
    keys: [
      {
        path: "keys.entries[0]",
        kid: "sig-2026-01",
        signer: "local:a.pem",
        phase: "dropped",
        announcedFrom: "2026-01-01T00:00:00Z",
        activeFrom: "2026-01-01T00:00:00Z",
        retiringFrom: "2026-07-01T14:00:00Z",
        withdrawnFrom: "2026-07-01T15:02:00Z",
        droppedFrom: "2026-07-15T15:02:00Z",
      },
      {
        path: "keys.entries[1]",
        kid: "sig-2026-07",
        signer: "local:b.pem",
        phase: "active",
        announcedFrom: "2026-07-01T08:00:00Z",
        activeFrom: "2026-07-01T14:00:00Z",
        retiringFrom: null,
        withdrawnFrom: null,
        droppedFrom: null,
      },
    ],
    shortCaching: [{ from: "2026-07-01T08:00:00Z", until: "2026-07-02T14:00:00Z" }],
    changes: [
      { at: "2026-01-01T00:00:00Z", what: "sig-2026-01 signs" },
      { at: "2026-07-01T08:00:00Z", what: "sig-2026-07 is announced, cached for 5 min" },
      { at: "2026-07-01T14:00:00Z", what: "sig-2026-07 signs, sig-2026-01 retires" },
      { at: "2026-07-01T15:02:00Z", what: "sig-2026-01 is withdrawn" },
      { at: "2026-07-02T14:00:00Z", what: "cached for 1 h" },
      { at: "2026-07-15T15:02:00Z", what: "sig-2026-01 can be removed" },
    ],
  });
});

test("a file with only a schedule is planned too, and a key without keyId is called by its URI", async () => {
  const entries = ENTRIES.map(({ keyId: _kid, ...entry }) => entry);
  await folder.write("schedule.json", { entries, maxTokenLifetimeSeconds: 3600 });
  const { stdout } = await plan("--config", "schedule.json", "--json", "--at", NOW);
  const { keys, changes } = JSON.parse(stdout);
  expect(keys.map(({ path, kid, signer }: Record<string, string>) => [path, kid, signer])).toEqual([
    ["entries[0]", null, "local:a.pem"],
    ["entries[1]", null, "local:b.pem"],
  ]);
  expect(changes[2].what).toBe("local:b.pem signs, local:a.pem retires");
});

test("a text from the file cannot control the terminal", async () => {
  await folder.write("hostile.json", configOf([{ ...ENTRIES[0], keyId: "\u001B[31mred\u202E" }]));
  const { code, stdout } = await plan("--config", "hostile.json");
  expect(code).toBe(0);
  expect(stdout).toContain("\\u001b[31mred\\u202e signs");
  expect(stdout).not.toContain("\u001B");
  expect(stdout).not.toContain("\u202E");
});

test("a list of keys is refused with what to write", async () => {
  await folder.write("list.json", { issuer: "https://op.example", keys: [{ keyId: "a", signer: "local:a.pem" }] });
  const { code, stdout, stderr } = await plan("--config", "list.json");
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain("error list.json: keys is a list, which has no dates to rotate by\n");
  expect(stderr).toContain('{ "maxTokenLifetimeSeconds": 3600, "entries": […] }');
});

test("a mistake is named with its path, and the others are counted", async () => {
  const [first, second] = ENTRIES;
  const entries = [{ ...first }, { ...second, activeFrom: "2026-07-01T10:00:00Z" }, { ...second, activeFrom: "x" }];
  await folder.write("mistakes.json", configOf(entries));
  const { code, stderr } = await plan("--config", "mistakes.json");
  expect(code).toBe(2);
  expect(stderr).toContain("error mistakes.json: keys.entries[2].activeFrom: expected a Date");
  expect(stderr).toContain("hint  There is 1 more: signpost rotate validate lists it\n");
});

test.each([
  ["no zone", ["--at", "2026-07-01T08:00:00"], "expected a date, time and zone, such as 2026-07-01T08:00:00Z"],
  ["an option that does not exist", ["--att", NOW], "did you mean --at?"],
])("%s is a mistake of usage", async (_name, args, message) => {
  const { code, stderr } = await plan(...args);
  expect(code).toBe(2);
  expect(stderr).toContain(message);
  expect(stderr).not.toMatch(/\n +at /);
});

test("--help of the group names its commands, with examples", async () => {
  const { code, stdout } = await runApp(["rotate", "--help"]);
  expect(code).toBe(0);
  expect(stdout).toMatchSnapshot();
});

test("a closed pipe is no failure", async () => {
  const child = startCli(["rotate", "plan"], { cwd: folder.path });
  child.stdout.destroy();
  const printed: string[] = [];
  child.stderr.on("data", (chunk) => printed.push(String(chunk)));
  await ended(child);
  expect({ code: child.exitCode, printed }).toEqual({ code: 0, printed: [] });
});

test("the clock of the machine is read, in whole seconds", async () => {
  const env = frozenAt("2026-07-01T14:00:00.500Z");
  const { stdout } = await runCli(["rotate", "plan", "--json"], { cwd: folder.path, env });
  expect(JSON.parse(stdout)).toMatchObject({ at: "2026-07-01T14:00:00Z", nextChange: "2026-07-01T15:02:00Z" });
});

test("a schedule of 3,000 daily rotations is planned: no key is generated that Node 20 could stand still over", async () => {
  const day = (index: number): string => new Date(Date.parse(NOW) + index * 86_400_000).toISOString();
  const entries = Array.from({ length: 3000 }, (_, index) => ({
    keyId: `k${index}`,
    signer: `local:${index}.pem`,
    announcedFrom: day(index - 3),
    activeFrom: day(index),
  }));
  await folder.write("many.json", configOf(entries));
  const args = ["rotate", "plan", "--config", "many.json", "--json"];
  const { code, stdout } = await runCli(args, { cwd: folder.path, env: FROZEN });
  expect(code).toBe(0);
  expect(JSON.parse(stdout).keys).toHaveLength(3000);
});
