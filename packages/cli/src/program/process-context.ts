import { colorsFor, wantsColor } from "../terminal/colors.ts";
import { createOutput, type Output } from "../terminal/output.ts";
import { createProgress, NO_PROGRESS } from "../terminal/progress.ts";
import { CliError } from "./cli-error.ts";
import type { CliContext } from "./context.ts";
import { EXIT } from "./exit-codes.ts";

/** The context of a command that runs in this process. */
export function processContext(endings: Pick<CliContext, "signal" | "interrupt" | "allowClosing">): CliContext {
  const { signal, interrupt, allowClosing } = endings;
  const { stdin, env } = process;
  const messages = outputTo(process.stderr);
  const canErase = messages.isTerminal && env["TERM"] !== "dumb";
  return {
    process: { stdout: stricliStream(process.stdout), stderr: stricliStream(process.stderr), env },
    output: outputTo(process.stdout),
    messages,
    stdin,
    env,
    // Only for a command that uses it, since the folder may be gone.
    get cwd() {
      return workingFolder();
    },
    signal,
    interrupt,
    allowClosing,
    ...(canErase ? createProgress(messages) : NO_PROGRESS),
  };
}

function workingFolder(): string {
  try {
    return process.cwd();
  } catch (cause) {
    const hint = "Change to another folder";
    throw new CliError(EXIT.usage, "no_folder", "The working folder no longer exists", { cause, hint });
  }
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
