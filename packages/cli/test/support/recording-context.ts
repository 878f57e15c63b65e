import { Readable } from "node:stream";
import { createColors } from "picocolors";
import type { CliContext } from "../../src/program/context.ts";
import { createOutput } from "../../src/terminal/output.ts";
import { NO_PROGRESS } from "../../src/terminal/progress.ts";

export interface RecordingContext extends CliContext {
  /** What was printed on stdout. */
  printed(): string;
}

/** The context of a command in this process, for tables of cases that need no process each. */
export function recordingContext(cwd: string, stdin: string = ""): RecordingContext {
  let printed = "";
  const write = (text: string | Uint8Array): void => {
    printed += Buffer.from(text).toString();
  };
  const output = createOutput({ write, colors: createColors(false), columns: undefined, isTerminal: false });
  return {
    process: { stdout: { write }, stderr: { write } },
    output,
    messages: output,
    stdin: Readable.from([stdin]) as unknown as CliContext["stdin"],
    env: {},
    cwd,
    signal: new AbortController().signal,
    interrupt: () => undefined,
    allowClosing: () => undefined,
    ...NO_PROGRESS,
    printed: () => printed,
  };
}
