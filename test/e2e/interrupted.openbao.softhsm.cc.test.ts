import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

// What long runs leave behind when a person or a scheduler stops them in the middle.

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PATIENCE_MS = 90_000;
/** How long what is left may take to be gone. */
const GONE_MS = 30_000;
/** More than a run makes before it is stopped. */
const MANY = "--tokens=1000000";

let temporary: string;
beforeEach(() => {
  temporary = mkdtempSync(join(tmpdir(), "signpost-interrupted-"));
});
afterEach(() => rmSync(temporary, { recursive: true }));

interface Running {
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly ended: Promise<number | string | null>;
}

/** In a process group for itself, as a terminal runs it, with a separate folder for temporary files. */
function start(command: string, args: readonly string[]): Running {
  const env = { ...process.env, TMPDIR: temporary };
  const child = spawn(command, args, { cwd: ROOT, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  }
  const ended = new Promise<number | string | null>((done) => {
    child.once("exit", (code, signal) => done(signal ?? code));
  });
  return { child, output: () => output, ended };
}

interface Process {
  readonly pid: number;
  readonly parent: number;
  /** A process with the same id that began at another time is another process. */
  readonly startedAt: string;
  readonly state: string;
  readonly command: string;
}

function processes(): readonly Process[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
        const [state = "", parent, ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
        const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
        return [{ pid: Number(pid), parent: Number(parent), startedAt: rest[17] ?? "", state, command }];
      } catch {
        // It has ended.
        return [];
      }
    });
}

/** A process and everything that it has started. */
function treeOf(pid: number): readonly Process[] {
  const all = processes();
  const below = (parent: number): readonly Process[] =>
    all.filter((each) => each.parent === parent).flatMap((each) => [each, ...below(each.pid)]);
  return [...all.filter((each) => each.pid === pid), ...below(pid)];
}

function stillThere(before: readonly Process[]): readonly Process[] {
  const now = processes().filter(({ state }) => state !== "Z");
  return before.filter(({ pid, startedAt }) => now.some((each) => each.pid === pid && each.startedAt === startedAt));
}

/** Waits for something that comes soon. */
async function until(what: string, { output }: Running, probe: () => boolean): Promise<void> {
  const end = Date.now() + PATIENCE_MS;
  while (!probe()) {
    if (Date.now() > end) throw new Error(`${what}: not within ${PATIENCE_MS} ms\n${output()}`);
    await pause(50);
  }
}

/** What is left once it has ended. */
interface Rest {
  readonly code: number | string | null;
  readonly processes: readonly string[];
  readonly temporaryFiles: readonly string[];
}

/** Sends the signal, and gives what is left some time to be gone. */
async function stop(run: Running, { to, signal }: Stop): Promise<Rest> {
  const pid = run.child.pid ?? 0;
  const before = treeOf(pid);
  expect(before.length).toBeGreaterThan(1);
  process.kill(to === "group" ? -pid : pid, signal);
  const code = await run.ended;
  const rest = (): Rest => ({
    code,
    processes: stillThere(before).map(({ command }) => command),
    temporaryFiles: readdirSync(temporary),
  });
  for (const end = Date.now() + GONE_MS; Date.now() < end && !isNothing(rest());) await pause(50);
  const left = rest();
  for (const each of stillThere(before)) process.kill(each.pid, "SIGKILL");
  return left;
}

function isNothing({ processes: running, temporaryFiles }: Rest): boolean {
  return running.length + temporaryFiles.length === 0;
}

interface Stop {
  /** Ctrl-C of a terminal goes to the whole group, and a scheduler's signal to one process. */
  readonly to: "group" | "process";
  readonly signal: "SIGINT" | "SIGTERM";
}

const STOPS: readonly Stop[] = [
  { to: "group", signal: "SIGINT" },
  { to: "process", signal: "SIGTERM" },
];

const nothing = ({ signal }: Stop): Rest => ({
  code: signal === "SIGINT" ? 130 : 143,
  processes: [],
  temporaryFiles: [],
});

describe.each(STOPS)("$signal to the $to", { timeout: 4 * PATIENCE_MS }, (how) => {
  test("ends npm run faults, and the server that it has started", async () => {
    const run = start(process.execPath, ["scripts/faults.mjs", "openbao", "--only=throttling,rotation", MANY]);
    await until("the first fault is over", run, () => /^ +1 {2}/m.test(run.output()));
    expect(await stop(run, how)).toEqual(nothing(how));
  });

  test.each([
    ["a child", "pkcs11-process", "process-stopped"],
    ["itself", "local", "own-process-stopped"],
  ])("ends npm run faults while it has stopped %s", async (_who, backend, kind) => {
    const run = start(process.execPath, ["scripts/faults.mjs", backend, `--only=${kind}`, MANY]);
    await until("a process is stopped", run, () => treeOf(run.child.pid ?? 0).some(({ state }) => state === "T"));
    expect(await stop(run, how)).toEqual(nothing(how));
  });

  test("ends npm run fuzz", async () => {
    const corpus = (): readonly string[] => readdirSync(join(ROOT, "test/fuzz/corpus"));
    const before = corpus();
    const run = start(process.execPath, ["scripts/fuzz.mjs", "jwk-set", "--seed=1", "--cases=2000000000"]);
    const worker = (): boolean => treeOf(run.child.pid ?? 0).some(({ command }) => command.includes("workers/forks"));
    await until("a worker of the test runner", run, worker);
    expect(await stop(run, how)).toEqual(nothing(how));
    expect(corpus()).toEqual(before);
  });
});

test("SIGTERM to npm alone ends npm run faults with all that it has started", { timeout: 240_000 }, async () => {
  const run = start("npm", ["run", "faults", "--", "openbao", "--only=rotation", MANY]);
  await until("the first fault is over", run, () => /^ +1 {2}/m.test(run.output()));
  // The code is npm's.
  expect(await stop(run, { to: "process", signal: "SIGTERM" })).toMatchObject({ processes: [], temporaryFiles: [] });
});

test("a page and a plot whose writing is cut off keep what they had", async () => {
  const page = join(temporary, "page.md");
  const plot = join(temporary, "img/faults-recovery.svg");
  const before = "<!-- results: written by npm run faults -- --publish -->\nold\n<!-- end of results -->\n";
  mkdirSync(join(temporary, "img"));
  for (const file of [page, plot]) writeFileSync(file, before);
  // A file can have 1 KiB, and the results need more.
  const limited = 'ulimit -f 2; exec "$@"';
  const program = [process.execPath, "test/faults/dist/page.js", "test/faults/results", page];
  const writing = promisify(execFile)("sh", ["-c", limited, "sh", ...program], { cwd: ROOT });
  await expect(writing).rejects.toThrow("EFBIG");
  for (const file of [page, plot]) expect(readFileSync(file, "utf8")).toBe(before);
  expect(readdirSync(join(temporary, "img"))).toEqual(["faults-recovery.svg"]);
});
