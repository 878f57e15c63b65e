import { script } from "@bomb.sh/tab";
import type { CliContext } from "../program/context.ts";
import { EXIT, type ExitCode } from "../program/exit-codes.ts";
import type { Shell } from "./command.ts";

/** Prints the script of a shell. The script calls `signpost complete -- WORD…`. */
export async function runComplete(_context: CliContext, shell: Shell): Promise<ExitCode> {
  script(shell, "signpost", "signpost");
  return EXIT.ok;
}
