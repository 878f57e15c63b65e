import { printableLines } from "../terminal/printable.ts";
import type { CliContext } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { failureOf, type Failure } from "./failure.ts";

/** The flags that commands share. */
export interface CommonFlags {
  readonly json?: boolean | undefined;
}

/** What a command does, without its command line. Resolves to the exit code. */
export type CommandRun<Flags extends CommonFlags, Args extends readonly unknown[]> = (
  context: CliContext,
  flags: Flags,
  ...args: Args
) => Promise<ExitCode>;

/** A command as the command-line library calls it: it sets the exit code, and reports what it throws. */
export function runnable<Flags extends CommonFlags, Args extends readonly unknown[]>(
  run: CommandRun<Flags, Args>,
): (this: CliContext, flags: Flags, ...args: Args) => Promise<void> {
  return async function runCommand(this: CliContext, flags, ...args) {
    const { process } = this;
    process.exitCode = await run(this, flags, ...args).catch((error: unknown) => {
      // Stopped from outside, so its failure is no news. The program ends with the code of what stopped it.
      if (this.signal.aborted) return EXIT.ok;
      const failure = failureOf(error);
      reportFailure(this, failure, flags.json === true);
      return failure.exitCode;
    });
  };
}

/** Says on stderr what went wrong. With `--json` also on stdout, which then holds nothing else. */
function reportFailure({ output, messages }: CliContext, failure: Failure, json: boolean): void {
  const { code, message, hint } = failure;
  messages.line(`${messages.colors.red("error")} ${printableLines(message)}`);
  if (hint !== undefined) messages.line(`${messages.colors.dim("hint")}  ${hint}`);
  if (json) output.json({ error: { code, message, ...(hint === undefined ? {} : { hint }) } });
}
