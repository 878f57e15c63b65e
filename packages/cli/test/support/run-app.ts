import { createColors } from "picocolors";
import { Readable } from "node:stream";
import { createApp } from "../../src/app.ts";
import type { CliContext } from "../../src/program/context.ts";
import { runProgram } from "../../src/program/run-program.ts";
import { createOutput, type Output } from "../../src/terminal/output.ts";
import { NO_PROGRESS } from "../../src/terminal/progress.ts";
import type { CliOptions, CliResult } from "./run-cli.ts";

/**
 * Runs a command line in this process, with all of the program but `bin.ts`. For further cases of what a test has seen of the built
 * program: a process takes longer to start than most commands to run.
 */
export async function runApp(
  args: readonly string[],
  { cwd = process.cwd(), env = {}, stdin = "" }: CliOptions = {},
): Promise<CliResult> {
  const [stdout, stderr] = [recorder(), recorder()];
  const streams: CliContext["process"] = { stdout, stderr, env };
  const context: CliContext = {
    process: streams,
    output: stdout.output,
    messages: stderr.output,
    stdin: Readable.from([stdin]) as unknown as CliContext["stdin"],
    env,
    cwd,
    signal: new AbortController().signal,
    interrupt: () => undefined,
    allowClosing: () => undefined,
    ...NO_PROGRESS,
  };
  const code = await runProgram(createApp("0.0.0"), args, context);
  return { code, stdout: stdout.written(), stderr: stderr.written() };
}

function recorder(): { write: (text: string) => void; output: Output; written: () => string } {
  let all = "";
  const write = (text: string | Uint8Array): void => {
    all += Buffer.from(text).toString();
  };
  const output = createOutput({ write, colors: createColors(false), columns: undefined, isTerminal: false });
  return { write, output, written: () => all };
}
