import { run, type Application } from "@stricli/core";
import type { CliContext } from "./context.ts";
import { EXIT } from "./exit-codes.ts";
import { screened } from "./screened.ts";

/** Runs a command line, and resolves to the exit code. */
export async function runProgram(
  app: Application<CliContext>,
  inputs: readonly string[],
  context: CliContext,
): Promise<number> {
  const { process, output } = context;
  let said = "";
  const write = (text: string): void => {
    said += screened(text);
    process.stderr.write(screened(text));
  };
  const recorded = { ...process, stderr: { ...process.stderr, write } };
  // Not a copy: some members of the context are read only when a command uses them.
  await run(app, inputs, Object.create(context, { process: { value: recorded, enumerable: true } }) as CliContext);
  const { exitCode } = recorded;
  if (typeof exitCode === "number" && exitCode >= 0) return exitCode;
  // The library found a mistake in the command line, and said so for people only.
  if (wantsJson(inputs)) output.json({ error: { code: "usage", message: said.trim() } });
  return EXIT.usage;
}

/** After `--`, everything is an argument. */
function wantsJson(inputs: readonly string[]): boolean {
  const end = inputs.indexOf("--");
  return inputs.slice(0, end === -1 ? inputs.length : end).some((input) => /^--json(?:=|$)/.test(input));
}
