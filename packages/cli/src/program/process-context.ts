import { colorsFor, wantsColor } from "../terminal/colors.ts";
import { createOutput, type Output } from "../terminal/output.ts";
import { withProgress } from "../terminal/progress.ts";
import type { CliContext } from "./context.ts";

/** The context of a command that runs in this process. */
export function processContext({ signal, interrupt }: Pick<CliContext, "signal" | "interrupt">): CliContext {
  const { stdin, env } = process;
  const messages = outputTo(process.stderr);
  return {
    process: { stdout: stricliStream(process.stdout), stderr: stricliStream(process.stderr), env },
    output: outputTo(process.stdout),
    messages,
    stdin,
    env,
    cwd: process.cwd(),
    signal,
    interrupt,
    during: (text, work) => (messages.isTerminal ? withProgress(text, work, messages) : work(() => undefined)),
  };
}

function outputTo(stream: NodeJS.WriteStream): Output {
  return createOutput({
    write: (text) => void stream.write(text),
    colors: colorsFor(stream, process.env),
    columns: stream.columns,
    isTerminal: stream.isTTY,
  });
}

/** The command-line library asks for the depth of colors, and knows no `NO_COLOR`. */
function stricliStream(stream: NodeJS.WriteStream): CliContext["process"]["stdout"] {
  return {
    write: (text) => void stream.write(text),
    getColorDepth: () => (wantsColor(stream, process.env) ? 4 : 1),
  };
}
