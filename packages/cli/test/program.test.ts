import { once } from "node:events";
import { createServer, type AddressInfo, type Server } from "node:net";
import { generateHelpTextForAllCommands, type Application, type CommandContext } from "@stricli/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createApp } from "../src/app.ts";
import { ended, runCli, startCli } from "./support/run-cli.ts";
import { runOnTerminal } from "./support/terminal.ts";

// It reads only the texts of commands, and asks for a context that commands get when they run.
const app = createApp("0.0.0") as unknown as Application<CommandContext>;

test("--help shows the commands, examples and exit codes", async () => {
  const { code, stdout, stderr } = await runCli(["--help"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatchSnapshot();
});

test.each(generateHelpTextForAllCommands(app))("the help of %s", (_command, text) => {
  expect(text).toContain("EXAMPLES");
  expect(text.split("\n").filter((line) => line.length > 120)).toEqual([]);
  expect(text).toMatchSnapshot();
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

test("a closed pipe is no failure, and no message", async () => {
  const child = startCli(["--help"]);
  child.stdout.destroy();
  const printed: string[] = [];
  child.stderr.on("data", (chunk) => printed.push(String(chunk)));
  await ended(child);
  expect({ code: child.exitCode, printed }).toEqual({ code: 0, printed: [] });
});
