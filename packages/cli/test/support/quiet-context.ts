import { createColors } from "picocolors";
import type { CliContext } from "../../src/program/context.ts";
import { createOutput } from "../../src/terminal/output.ts";

/** The context of a command that prints nothing, for tests of what commands are built from. */
export function quietContext(cwd: string): CliContext {
  const write = (): void => undefined;
  const output = createOutput({ write, colors: createColors(false), columns: undefined, isTerminal: false });
  return {
    process: { stdout: { write }, stderr: { write } },
    output,
    messages: output,
    stdin: process.stdin,
    env: {},
    cwd,
    signal: new AbortController().signal,
    during: (_text, work) => work(() => undefined),
  };
}
