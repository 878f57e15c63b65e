import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test } from "vitest";
import { environmentOf, isRunning } from "./support/processes.ts";
import { moduleChild } from "./support/isolation.ts";
import { useShimmedToken } from "./support/shimmed-token.ts";
import { until } from "./support/signing.ts";

const at = useShimmedToken();
const started: ChildProcess[] = [];

afterEach(() => {
  for (const program of started.splice(0)) program.kill("SIGKILL");
});

interface Program {
  readonly process: ChildProcess;
  readonly child: number;
  say(command: "sign" | "close" | "exit"): void;
}

/** A program with a signer, and the child process that holds the module for it. */
async function startProgram(env: NodeJS.ProcessEnv = {}): Promise<Program> {
  const path = fileURLToPath(new URL("programs/obey.mjs", import.meta.url));
  const options = JSON.stringify({ ...at.base, sessions: 2, isolation: "process" });
  const program = spawn(process.execPath, [path, options], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, ...env },
  });
  started.push(program);
  await once(program.stdout, "data");
  const child = await moduleChild(program.pid);
  return { process: program, child, say: (command) => program.stdin.write(`${command}\n`) };
}

const ENDINGS: readonly (readonly [name: string, end: (program: Program) => void])[] = [
  ["is killed", (program) => program.process.kill("SIGKILL")],
  ["calls process.exit()", (program) => program.say("exit")],
];

const HANGS = ["C_Sign", "C_CloseSession", "C_Finalize"] as const;

describe("the child process ends with the process that started it", () => {
  test.each(ENDINGS)("when that %s while nothing is to be done: everything is closed", async (_name, end) => {
    const program = await startProgram();
    end(program);
    await until(() => !isRunning(program.child));
    expect(at.shim.calls("C_Finalize")).toBe(1);
    expect(at.shim.counter("openSessions")).toBe(0);
  });

  test.each(ENDINGS)("when that %s while a signature is made", async (_name, end) => {
    const program = await startProgram();
    at.shim.delay("C_Sign", 300);
    program.say("sign");
    await until(() => at.shim.counter("inFlight") === 1);
    end(program);
    await until(() => !isRunning(program.child));
    expect(at.shim.calls("C_Finalize")).toBe(1);
  });

  test.each(HANGS.flatMap((call) => ENDINGS.map(([name, end]) => ({ call, name, end }))))(
    "when that $name and $call hangs",
    async ({ call, end }) => {
      const program = await startProgram();
      at.shim.hang(call, 100);
      if (call === "C_Sign") program.say("sign");
      if (call === "C_Sign") await until(() => at.shim.counter("hung") > 0);
      expect(isRunning(program.child)).toBe(true);
      end(program);
      await until(() => !isRunning(program.child));
    },
  );

  test.each(["C_CloseSession", "C_Finalize"] as const)(
    "when that is killed while close() hangs in %s",
    async (call) => {
      const program = await startProgram();
      at.shim.hang(call, 100);
      program.say("close");
      await until(() => at.shim.counter("hung") > 0);
      expect(isRunning(program.child)).toBe(true);
      program.process.kill("SIGKILL");
      await until(() => !isRunning(program.child));
    },
  );
});

test("the child gets the module's environment, and none of what the application gives to Node", async () => {
  const program = await startProgram({
    SIGNPOST_TEST_MODULE: "for the module",
    NODE_OPTIONS: "--no-warnings",
    NODE_V8_COVERAGE: at.hsm.directory,
  });
  const environment = environmentOf(program.child);
  expect(environment).toContain("SIGNPOST_TEST_MODULE=for the module");
  expect(environment.filter((entry) => /^NODE_(OPTIONS|V8_COVERAGE)=/.test(entry))).toEqual([]);
});
