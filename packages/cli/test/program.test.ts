import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo, type Server } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createColors } from "picocolors";
import { createOutput } from "../src/terminal/output.ts";
import { createKeyFolder } from "./support/key-folder.ts";
import { runApp } from "./support/run-app.ts";
import { BIN, ended, runCli, startCli } from "./support/run-cli.ts";
import { runOnTerminal } from "./support/terminal.ts";

test("--help shows the commands, examples and exit codes", async () => {
  const { code, stdout, stderr } = await runCli(["--help"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatchSnapshot();
});

test("--version prints the version of the package", async () => {
  expect(await runCli(["--version"])).toEqual({ code: 0, stdout: "0.0.0\n", stderr: "" });
});

test.each([
  ["a command that does not exist", ["jwkss"], 'There is no command "jwkss". Did you mean `jwks`?'],
  ["an option that does not exist", ["jwks", "--etga"], "No flag registered for --etga, did you mean --etag?"],
  ["a missing argument", ["kid"], "Expected argument for uri"],
])("%s is a mistake of usage", async (_name, args, message) => {
  const { code, stdout, stderr } = await runCli(args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain(message);
});

test.each([
  ["an option that does not exist", ["jwks", "--etga", "--json"], "No flag registered for --etga"],
  ["a value that cannot be read", ["bench", "local:", "--calls", "many", "--json"], "expected a whole number from 1"],
  ["a missing argument", ["kid", "--json"], "Expected argument for uri"],
])("with --json, %s is told to programs too", async (_name, args, message) => {
  const { code, stdout, stderr } = await runApp(args);
  expect(code).toBe(2);
  expect(stderr).toContain(message);
  expect(JSON.parse(stdout)).toEqual({ error: { code: "usage", message: expect.stringContaining(message) } });
});

test("--json after -- is an argument", async () => {
  expect(await runApp(["kid", "local:", "--", "--json"])).toMatchObject({ code: 2, stdout: "" });
});

test("with --json, the built program tells a mistake of usage in JSON", async () => {
  const { code, stdout } = await runCli(["kid", "--json", "--no"]);
  expect(code).toBe(2);
  expect(JSON.parse(stdout).error.code).toBe("usage");
});

test("colors are for terminals, unless FORCE_COLOR or NO_COLOR say otherwise", async () => {
  const args = ["kid", "pkcs12:"];
  const escape = "\u001B[";
  expect((await runCli(args)).stderr).not.toContain(escape);
  expect((await runCli(args, { env: { FORCE_COLOR: "1" } })).stderr).toContain(escape);
  expect((await runCli(args, { env: { FORCE_COLOR: "1", NO_COLOR: "1" } })).stderr).not.toContain(escape);
});

describe("a command that waits for its backend", () => {
  /** Accepts connections, and never answers. */
  let silent: Server;
  let env: NodeJS.ProcessEnv;

  beforeAll(async () => {
    silent = createServer().listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    env = {
      AWS_ENDPOINT_URL_KMS: `http://127.0.0.1:${port}`,
      AWS_REGION: "eu-west-1",
      AWS_ACCESS_KEY_ID: "test",
      AWS_SECRET_ACCESS_KEY: "test",
    };
  });
  afterAll(() => silent.close());

  async function waiting(): Promise<ReturnType<typeof startCli>> {
    const child = startCli(["kid", "awskms:///alias/op"], { env });
    const [socket] = await once(silent, "connection");
    socket.on("error", () => undefined);
    return child;
  }

  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("ends on %s with the code that shells report, and prints nothing", async (signal, code) => {
    const child = await waiting();
    const printed: string[] = [];
    child.stdout.on("data", (chunk) => printed.push(String(chunk)));
    child.stderr.on("data", (chunk) => printed.push(String(chunk)));
    child.kill(signal);
    await ended(child);
    expect({ code: child.exitCode, printed }).toEqual({ code, printed: [] });
  });
});

test("at a terminal, a command says what it waits for, and Ctrl-C ends it", async () => {
  const silent = createServer().listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as AddressInfo;
  const env = { AWS_REGION: "eu-west-1", AWS_ACCESS_KEY_ID: "test", AWS_SECRET_ACCESS_KEY: "test" };
  const typed = { question: "Opening the key", answer: "\u0003" };
  const { code, shown } = await runOnTerminal(["kid", `awskms://127.0.0.1:${port}/alias/op`], typed, { env });
  silent.close();
  expect(code).toBe(130);
  expect(shown).not.toContain("error");
});

test("a second Ctrl-C ends a command that reads a file that never answers", async () => {
  await using folder = await createKeyFolder();
  await promisify(execFile)("mkfifo", [join(folder.path, "fifo.json")]);
  const child = startCli(["jwks", "--config", "fifo.json"], { cwd: folder.path });
  await delay(400);
  for (; child.signalCode === null && child.exitCode === null; await delay(100)) child.kill("SIGINT");
  expect(child.signalCode).toBe("SIGINT");
});

test("a full disk is named, and is not taken for a finding", async () => {
  const child = spawn("sh", ["-c", '"$0" "$1" --help > /dev/full', process.execPath, BIN]);
  const [stderr] = await Promise.all([text(child.stderr), once(child, "close")]);
  expect({ code: child.exitCode, stderr }).toEqual({ code: 2, stderr: "error stdout: cannot be written (ENOSPC)\n" });
});

test("a working folder that is gone matters only to a command that uses it", async () => {
  const gone = 'cd "$(mktemp -d)"; rmdir "$PWD"; "$0" "$1" --version; "$0" "$1" jwks';
  const child = spawn("sh", ["-c", gone, process.execPath, BIN]);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  expect({ code: child.exitCode, stdout, stderr }).toEqual({
    code: 2,
    stdout: "0.0.0\n",
    stderr: "error The working folder no longer exists\nhint  Change to another folder\n",
  });
});

test("at a terminal that cannot erase a line, nothing shows what a command waits for", async () => {
  const silent = createServer().listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as AddressInfo;
  const args = ["check", `http://127.0.0.1:${port}`, "--timeout", "0.7", "--json"];
  const { code, shown } = await runOnTerminal(args, { question: "never", answer: "" }, { env: { TERM: "dumb" } });
  silent.close();
  expect(code).toBe(3);
  expect(shown).not.toContain("asking");
  expect(shown).not.toContain("\u001B");
});

test("JSON contains no character that a terminal obeys", () => {
  let written = "";
  const write = (part: string | Uint8Array): void => void (written += String(part));
  const output = createOutput({ write, colors: createColors(false), columns: 80, isTerminal: true });
  const value = { kid: "\u009B31m\u007F\u202E\u2028", list: ["a\nb"] };
  output.json(value);
  expect(written).not.toMatch(/[\u007F-\u009F\u202E\u2028]/);
  expect(JSON.parse(written)).toEqual(value);
  expect(written.split("\n")).toHaveLength(7);
});

test("a closed pipe is no failure, and no message", async () => {
  const child = startCli(["--help"]);
  child.stdout.destroy();
  const printed: string[] = [];
  child.stderr.on("data", (chunk) => printed.push(String(chunk)));
  await ended(child);
  expect({ code: child.exitCode, printed }).toEqual({ code: 0, printed: [] });
});

test("a command that ends before its work is done says so", async () => {
  // Nothing keeps a program running that waits for this.
  const config = "export default await new Promise(() => undefined);";
  await using folder = await createKeyFolder();
  await folder.write("signpost.config.mjs", config);
  expect(await runCli(["jwks"], { cwd: folder.path })).toEqual({
    code: 3,
    stdout: "",
    stderr: "error the command ended before its work was done\n",
  });
});
