import { chmod, lstat, mkdir, readdir, readFile, stat, symlink } from "node:fs/promises";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "vitest";
import { runApp } from "../support/run-app.ts";
import { ended, startCli, type CliResult } from "../support/run-cli.ts";
import { runOnTerminal } from "../support/terminal.ts";
import { expectTranscript } from "../support/transcript.ts";
import { configOf, configText, ENTRIES, FROZEN, frozenFolder, rotationFolder } from "./support.ts";

const { path, rotate, spawned, file, read } = frozenFolder();
/** What the new key is called. */
const NEW = ["--signer", "local:c.pem", "--key-id", "sig-2027-01"];
const LINE =
  '      { "keyId": "sig-2027-01", "signer": "local:c.pem", "announcedFrom": "2026-07-01T10:00:00Z", "activeFrom": "2026-07-01T14:01:00Z" }';

function announce(args: readonly string[]): Promise<CliResult> {
  return rotate("announce", ...args);
}

test("--dry-run shows the changed lines and the schedule before and after, and writes nothing", async () => {
  await using narrow = await rotationFolder();
  const text = JSON.stringify(configOf(ENTRIES.slice(0, 1)), undefined, 2);
  await narrow.write("signpost.config.json", text);
  const args = ["rotate", "announce", "--signer", "local:b.pem", "--key-id", "sig-2026-07", "--dry-run"];
  const { code, stderr } = await expectTranscript("rotate-announce", args, { cwd: narrow.path, env: FROZEN });
  expect({ code, stderr: stripVTControlCharacters(stderr) }).toEqual({
    code: 0,
    stderr: "✓ signed and verified a probe with local:b.pem\nNothing was written.\n",
  });
  expect(await readFile(join(narrow.path, "signpost.config.json"), "utf8")).toBe(text);
});

test("--yes writes the entry at the earliest safe time, and nothing else changes", async () => {
  const { code, stderr } = await spawned(["announce", ...NEW, ...(await file("yes.json")), "--yes"]);
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: [
      "✓ signed and verified a probe with local:c.pem",
      "✓ wrote yes.json",
      "  Roll it out to every replica before 2026-07-01T10:00:00Z.",
      "  Then follow it: signpost check https://op.example/jwks --watch --until sig-2027-01",
      "",
    ].join("\n"),
  });
  const lines = configText().split("\n");
  const last = lines.findIndex((line) => line.includes("sig-2026-07"));
  expect((await read("yes.json")).split("\n")).toEqual([
    ...lines.slice(0, last),
    `${lines[last]},`,
    LINE,
    ...lines.slice(last + 1),
  ]);
});

test("--json has the entry and the diff, and stderr only what happened", async () => {
  const { code, stdout, stderr } = await announce([...NEW, ...(await file("machine.json")), "--yes", "--json"]);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual({
    file: "machine.json",
    written: true,
    entry: JSON.parse(LINE),
    diff: expect.arrayContaining([`+${LINE}`]),
  });
  expect(stderr).toBe("✓ signed and verified a probe with local:c.pem\n✓ wrote machine.json\n");
});

test("the default kid is the thumbprint, and times may be told", async () => {
  const args = ["--signer", "local:c.pem", "--announced-from", "2026-07-01T09:00:00Z", "--dry-run", "--json"];
  const { stdout } = await announce(args);
  const kid = (await runApp(["kid", "local:c.pem"], { cwd: path() })).stdout.trim();
  expect(JSON.parse(stdout).entry).toEqual({
    keyId: kid,
    signer: "local:c.pem",
    announcedFrom: "2026-07-01T09:00:00Z",
    activeFrom: "2026-07-01T13:01:00Z",
  });
});

test("a key that signs later is announced a day before, since caches keep the set for a short time from then on", async () => {
  const { stdout } = await announce([...NEW, "--active-from", "2027-01-04T08:00:00Z", "--dry-run", "--json"]);
  expect(JSON.parse(stdout).entry).toMatchObject({
    announcedFrom: "2027-01-03T08:00:00Z",
    activeFrom: "2027-01-04T08:00:00Z",
  });
});

test("a symbolic link stays one, and the mode of the file is kept", async () => {
  await mkdir(join(path(), "real"));
  await file("real/config.json");
  await chmod(join(path(), "real/config.json"), 0o640);
  await symlink("real/config.json", join(path(), "link.json"));
  expect(await announce([...NEW, "--config", "link.json", "--yes"])).toMatchObject({ code: 0 });
  expect((await lstat(join(path(), "link.json"))).isSymbolicLink()).toBe(true);
  expect((await stat(join(path(), "real/config.json"))).mode & 0o777).toBe(0o640);
  expect(await read("real/config.json")).toContain(LINE);
  expect(await readdir(join(path(), "real"))).toEqual(["config.json"]);
});

test("a byte order mark and the ends of lines are kept", async () => {
  const text = `\uFEFF${configText().replaceAll("\n", "\r\n")}`;
  expect(await announce([...NEW, ...(await file("windows.json", text)), "--yes"])).toMatchObject({ code: 0 });
  const written = await read("windows.json");
  expect(written.startsWith("\uFEFF{\r\n")).toBe(true);
  expect(written.replaceAll("\r\n", "")).not.toMatch(/[\r\n]/);
  expect(written).toContain(LINE);
});

describe("at a terminal", () => {
  const typed = { question: "Write this to", answer: "y" };

  test("it asks, and writes after a yes", async () => {
    const args = ["rotate", "announce", ...NEW, ...(await file("asked.json"))];
    const { code, shown } = await runOnTerminal(args, typed, { cwd: path(), env: FROZEN });
    expect(code).toBe(0);
    expect(shown.indexOf("sig-2027-01 is announced")).toBeLessThan(shown.indexOf("Write this to asked.json?"));
    expect(await read("asked.json")).toContain(LINE);
  });

  test.each([
    ["a no", "n", 1],
    ["a careless Enter", "\r", 1],
    ["Ctrl-C", "\u0003", 130],
  ])("%s writes nothing", async (_name, answer, expected) => {
    const args = ["rotate", "announce", ...NEW, ...(await file("declined.json"))];
    const { code, shown } = await runOnTerminal(args, { ...typed, answer }, { cwd: path(), env: FROZEN });
    expect(code).toBe(expected);
    expect(shown).not.toContain("error");
    expect(await read("declined.json")).toBe(configText());
  });

  test("a file that changed meanwhile is not overwritten", async () => {
    const args = ["rotate", "announce", ...NEW, ...(await file("raced.json"))];
    const changed = configText().replace("3600", "7200");
    const meanwhile = async (): Promise<void> => void (await file("raced.json", changed));
    const { code, shown } = await runOnTerminal(args, { ...typed, meanwhile }, { cwd: path(), env: FROZEN });
    expect(code).toBe(2);
    expect(shown).toContain("raced.json was changed meanwhile, and is not overwritten");
    expect(await read("raced.json")).toBe(changed);
    expect((await readdir(path())).filter((name) => name.startsWith("."))).toEqual([]);
  });
});

test("without a terminal and without --yes, it refuses before any key is opened", async () => {
  const { code, stdout, stderr } = await spawned(["announce", "--signer", "local:away.pem"]);
  expect({ code, stdout, stderr }).toEqual({
    code: 2,
    stdout: "",
    stderr: [
      "error There is no terminal to ask before the file is written",
      "hint  --yes writes without a question, and --dry-run shows the change",
      "",
    ].join("\n"),
  });
});

test("a folder that cannot be written is named before any key is opened", async () => {
  const place = join(path(), "read-only");
  await mkdir(place);
  await file("read-only/signpost.config.json");
  await chmod(place, 0o555);
  // As a user for whom the mode counts: root may write everywhere.
  const drop = `if (process.getuid() === 0) process.setuid(65534);`;
  await chmod(path(), 0o755);
  const env = { NODE_OPTIONS: `${FROZEN["NODE_OPTIONS"]} --import=data:text/javascript,${encodeURIComponent(drop)}` };
  const args = [...NEW, "--config", "read-only/signpost.config.json"];
  expect(await spawned(["announce", ...args, "--yes"], env)).toMatchObject({
    code: 2,
    stdout: "",
    stderr: expect.stringMatching(/signpost\.config\.json: cannot be written \(EACCES\)\nhint {2}--dry-run shows/),
  });
  expect(await announce([...args, "--dry-run", "--json"])).toMatchObject({ code: 0 });
  // A folder that can be written would be enough to replace the file.
  await chmod(place, 0o777);
  await chmod(join(place, "signpost.config.json"), 0o444);
  expect(await spawned(["announce", ...args, "--yes"], env)).toMatchObject({ code: 2, stdout: "" });
});

test("a closed pipe is no failure, and the file is whole", async () => {
  const args = ["rotate", "announce", ...NEW, ...(await file("piped.json")), "--yes"];
  const child = startCli(args, { cwd: path(), env: FROZEN });
  child.stdout.destroy();
  await ended(child);
  expect(child.exitCode).toBe(0);
  const { entries } = JSON.parse(await read("piped.json")).keys;
  expect([2, 3]).toContain(entries.length);
});
