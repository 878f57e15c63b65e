import type { CliContext } from "../../program/context.ts";
import { printable, printableLines } from "../../terminal/printable.ts";
import type { Proposal } from "./propose.ts";

/** Prints the entry for a configuration that is code, or the whole schedule if there was none. */
export function printEntry(context: CliContext, proposal: Proposal, entry: object): void {
  const { target } = proposal;
  if (target.isMade) return printSchedule(context, proposal);
  context.messages.line(`${nameOf(proposal)} is code, and is not changed. Add this to keys.entries:`);
  context.output.line(printable(JSON.stringify(entry)));
}

/** Prints the whole schedule for a configuration that is code. */
export function printSchedule(context: CliContext, proposal: Proposal): void {
  context.messages.line(`${nameOf(proposal)} is code, and is not changed. Write this as keys:`);
  context.output.line(printableLines(JSON.stringify(proposal.schedule, undefined, 2)));
}

function nameOf({ target }: Proposal): string {
  return printable(target.source.file.name);
}
