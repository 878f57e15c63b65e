import { proposeCompletions, type Application } from "@stricli/core";
import type { CliContext } from "../program/context.ts";

/** What the script of a shell reads after the proposals: 4 means that these are all, so no names of files. */
const NO_FILES = ":4";

/** Prints what may come next on a command line: one proposal a line, with a tab before its description. */
export async function propose(
  app: Application<CliContext>,
  words: readonly string[],
  context: CliContext,
): Promise<void> {
  const proposals = await proposeCompletions(app, words, context);
  for (const { completion, brief } of proposals) {
    if (completion !== "--") context.output.line(`${completion}\t${brief}`);
  }
  context.output.line(NO_FILES);
}
