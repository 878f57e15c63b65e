import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { CliContext } from "../../src/program/context.ts";
import { runAnnounce } from "../../src/rotate/announce/run.ts";
import { runEmergency } from "../../src/rotate/emergency/run.ts";
import { recordingContext, type RecordingContext } from "../support/recording-context.ts";
import { configOf, configText, ENTRIES, frozenFolder, NOW } from "./support.ts";

// What happens between the question and its answer, in this process: the clock and the file may change meanwhile.

const person = vi.hoisted(() => ({
  questions: [] as string[],
  answer: async (): Promise<boolean> => true,
}));
vi.mock("../../src/program/prompts.ts", async (importOriginal) => ({
  ...(await importOriginal<object>()),
  canAsk: () => true,
  askConsent: (_context: unknown, question: string) => {
    person.questions.push(question);
    return person.answer();
  },
}));

const { path, file, read } = frozenFolder();
const START = Date.parse(NOW);
const HOUR = 3_600_000;

beforeEach(() => {
  person.questions.length = 0;
  person.answer = async () => true;
});
afterEach(() => void vi.setSystemTime(START));

type Command = (context: CliContext, config: string, flags?: object) => Promise<number>;
const announce: Command = (context, config, flags = {}) =>
  runAnnounce(context, { signer: "local:c.pem", keyId: "new", config, ...flags });
const emergency: Command = (context, config, flags = {}) => runEmergency(context, { config, ...flags }, "sig-2026-01");

const COMMANDS: readonly (readonly [name: string, run: Command, question: string])[] = [
  ["announce", announce, "Write this to asked.json?"],
  ["emergency", emergency, "Withdraw sig-2026-01, and write this to asked.json?"],
];

/** Runs a command on a new file. */
async function asked(run: Command, flags: object = {}, more: Partial<CliContext> = {}) {
  await file("asked.json");
  const context: RecordingContext = { ...recordingContext(path()), ...more };
  const outcome = await run(context, "asked.json", flags).then(
    (code) => ({ code }),
    (error: unknown) => ({ error }),
  );
  const isChanged = (await read("asked.json")) !== configText();
  return { code: undefined, error: undefined, ...outcome, isChanged, printed: context.printed() };
}

describe.each(COMMANDS)("%s", (_name, run, question) => {
  test("asks, and writes after a yes", async () => {
    expect(await asked(run)).toMatchObject({ code: 0, isChanged: true });
    expect(person.questions).toEqual([question]);
  });

  test("writes nothing after a no, and ends with 1", async () => {
    person.answer = async () => false;
    const { printed, ...ended } = await asked(run);
    expect(ended).toMatchObject({ code: 1, isChanged: false });
    expect(printed).toContain("Nothing was written.\n");
  });

  test.each([
    ["with --yes", { yes: true }, true],
    ["with --dry-run", { dryRun: true }, false],
    ["with both", { yes: true, dryRun: true }, false],
  ])("%s does not ask", async (_flags, flags, isChanged) => {
    expect(await asked(run, flags)).toMatchObject({ code: 0, isChanged });
    expect(person.questions).toEqual([]);
  });

  test("writes nothing if the command is stopped after the answer", async () => {
    const ending = new AbortController();
    person.answer = async () => {
      ending.abort(new Error("stopped"));
      return true;
    };
    const ended = await asked(run, {}, { signal: ending.signal });
    expect(ended).toMatchObject({ error: { message: "stopped" }, isChanged: false });
  });

  test("writes nothing if the clock was set back before the first date meanwhile", async () => {
    person.answer = async () => {
      vi.setSystemTime(Date.parse("2025-06-01T00:00:00Z"));
      return true;
    };
    const ended = await asked(run);
    expect(ended).toMatchObject({ error: { exitCode: 2 }, isChanged: false });
    expect(ended.error).toMatchObject({ message: expect.stringContaining("expected an entry that is active now") });
  });

  test("shows what changes on the way to the question, and the schedule before and after", async () => {
    const { printed } = await asked(run);
    const parts = ["@@ asked.json line ", "Before\n", "After\n", "✓ wrote asked.json"];
    const places = parts.map((part) => printed.indexOf(part));
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places.every((place) => place >= 0)).toBe(true);
  });
});

test("a key whose announcement passes while a person thinks is not announced", async () => {
  const later = (ms: number) => async () => {
    vi.setSystemTime(START + ms);
    return true;
  };
  person.answer = later(HOUR);
  expect(await asked(announce)).toMatchObject({ code: 0, isChanged: true });
  vi.setSystemTime(START);
  person.answer = later(HOUR + 1);
  expect(await asked(announce)).toMatchObject({
    error: { exitCode: 2, code: "announced_past", message: "--announced-from: 2026-07-01T10:00:00Z is over" },
    isChanged: false,
  });
});

test("the time of a change has whole seconds, as people write times", async () => {
  vi.setSystemTime(START + 999);
  const { printed } = await asked(announce);
  expect(printed).toMatch(/▲ 2026-07-01T09:00:00Z|2026-07-01T09:00:00Z ▲/);
  expect(printed).not.toContain("09:00:01Z");
  vi.setSystemTime(START + 999);
  await asked(emergency, { yes: true });
  const { keys } = JSON.parse(await read("asked.json"));
  expect(keys.entries).toMatchObject([{ keyId: "sig-2026-07", emergencyAt: NOW }]);
});

describe("where there is no issuer, what to do next names no URL", () => {
  const [first, second] = ENTRIES;
  const bare = { maxTokenLifetimeSeconds: 3600, entries: [first, second] };

  test.each([
    ["announce", announce, "signpost check URL --watch --until new\n"],
    ["emergency", emergency, "curl -H 'Cache-Control: no-cache' URL\n"],
  ])("%s", async (_name, run, words) => {
    await file("bare.json", bare);
    const context = recordingContext(path());
    expect(await run(context, "bare.json", { yes: true })).toBe(0);
    expect(context.printed()).toContain(words);
  });
});

describe("a key that cannot be read is named by where it is", () => {
  test("if it would sign next", async () => {
    const config = configOf([{ ...ENTRIES[0] }, { ...ENTRIES[1], keyId: undefined, signer: "local:away.pem" }]);
    await file("away.json", config);
    const ended = emergency(recordingContext(path()), "away.json", { yes: true });
    await expect(ended).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringMatching(/^local:away\.pem would sign, and cannot: /),
      hint: expect.stringMatching(/Nothing is withdrawn\. Name another key with --signer URI$/),
    });
  });

  test("if a new key is compared with it", async () => {
    const config = configOf([{ ...ENTRIES[0], signer: `local:${join(path(), "away.pem")}` }, { ...ENTRIES[1] }]);
    await file("compared.json", config);
    const context = recordingContext(path());
    const flags = { signer: "local:c.pem", keyId: "spare", yes: true };
    expect(await emergency(context, "compared.json", flags)).toBe(0);
    expect(context.printed()).toMatch(/^! not compared with sig-2026-01: /);
  });
});
