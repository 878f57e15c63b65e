import type { ConfigSchedule } from "../../config/config.ts";
import type { CliContext } from "../../program/context.ts";
import { askConsent } from "../../program/prompts.ts";
import type { Output } from "../../terminal/output.ts";
import { printable } from "../../terminal/printable.ts";
import type { ChangeFlags } from "../flags.ts";
import type { Rotation } from "../inspect.ts";
import { printEvents, printLegend, printPicture } from "../timeline/print.ts";
import { diffOf, diffText, NO_COLORS, type Hunk } from "./diff.ts";
import { applyEdits, planEdits, requireValue, type JsonChange } from "./json-edit.ts";
import type { Target } from "./target.ts";
import { replaceFile } from "./write-config.ts";

/** A change of a schedule, before it is written. */
export interface Proposal {
  readonly target: Target;
  readonly schedule: ConfigSchedule;
  readonly after: Rotation;
  /** The time of the change. */
  readonly at: number;
  /** The changes of the entries, with paths below the schedule. A schedule that was made of a list is written whole. */
  readonly changes: readonly JsonChange[];
  readonly question: string;
  /** What must be read before the question, whose place is right above it. Default: nothing. */
  readonly warn?: (output: Output) => void;
  /** Throws if the change is no longer right. Called when it is about to be written. */
  readonly stillRight: () => void;
}

export interface Outcome {
  readonly written: boolean;
  /** The change was refused at the question. */
  readonly declined: boolean;
  /** The lines that change. Undefined for a configuration that is code. */
  readonly diff: readonly string[] | undefined;
}

/** Shows a change of a JSON file, asks, and writes it. A configuration that is code is only shown. */
export async function propose(context: CliContext, flags: ChangeFlags, proposal: Proposal): Promise<Outcome> {
  const { target } = proposal;
  const { file } = target.source;
  const shown = shownOn(context, flags);
  if (target.text === undefined || file.bytes === undefined) {
    // Stdout has only what is to be written into the file.
    printTimelines(proposal, flags.json === true ? undefined : context.messages);
    return { written: false, declined: false, diff: undefined };
  }
  const edits = await planEdits(target.text, fileChanges(proposal));
  const text = applyEdits(target.text, edits);
  requireValue(text, expectedValue(proposal));
  const hunks = diffOf(target.text, edits);
  printDiff(file.name, hunks, shown);
  printTimelines(proposal, shown);
  const outcome = { diff: diffText(file.name, hunks, NO_COLORS) };
  if (flags.dryRun === true) return { ...outcome, written: false, declined: false };
  if (flags.yes !== true && !(await askConsent(context, proposal.question))) {
    return { ...outcome, written: false, declined: true };
  }
  context.signal.throwIfAborted();
  proposal.stillRight();
  const mark = file.bytes.length === Buffer.byteLength(target.text) ? "" : "\uFEFF";
  await replaceFile(file.path, file.bytes, Buffer.from(mark + text));
  return { ...outcome, written: true, declined: false };
}

/** Where a person sees the change. What is asked about must be on the terminal. JSON has stdout for itself. */
export function shownOn({ output, messages }: CliContext, { json, yes, dryRun }: ChangeFlags): Output | undefined {
  const asks = yes !== true && dryRun !== true;
  if (json === true && !asks) return undefined;
  return json === true || (asks && !output.isTerminal) ? messages : output;
}

function fileChanges({ target, schedule, changes }: Proposal): readonly JsonChange[] {
  const base = target.source.file.isBare ? [] : ["keys"];
  if (target.isMade) return [{ kind: "replace", path: base, value: schedule }];
  return changes.map((change) => {
    if (change.kind === "append" || change.kind === "remove") return { ...change, list: [...base, ...change.list] };
    if (change.kind === "set") return { ...change, object: [...base, ...change.object] };
    return { ...change, path: [...base, ...change.path] };
  });
}

function expectedValue({ target, schedule }: Proposal): unknown {
  const { file } = target.source;
  return file.isBare ? schedule : { ...Object(file.value), keys: schedule };
}

function printDiff(name: string, hunks: readonly Hunk[], output: Output | undefined): void {
  if (output === undefined) return;
  for (const line of diffText(name, hunks, output.colors)) output.line(line);
  output.line();
}

function printTimelines({ target, after, at, warn }: Proposal, output: Output | undefined): void {
  if (output === undefined) return;
  const { colors } = output;
  output.line(colors.bold("Before"));
  printPicture(target.before, at, output);
  output.line();
  output.line(colors.bold("After"));
  printPicture(after, at, output);
  printLegend(after, at, output);
  output.line();
  printEvents(after, at, output);
  output.line();
  if (warn === undefined) return;
  warn(output);
  output.line();
}

/** Says how it ended, and what to do next. */
export function printOutcome(
  context: CliContext,
  flags: ChangeFlags,
  { target }: Proposal,
  outcome: Outcome,
  next: readonly string[],
): void {
  const { messages } = context;
  const name = printable(target.source.file.name);
  if (!outcome.written) {
    if (outcome.diff !== undefined) messages.line("Nothing was written.");
    return;
  }
  messages.line(`${messages.colors.green("✓")} wrote ${name}`);
  if (flags.json !== true) for (const line of next) messages.line(`  ${line}`);
}
