import { isSchedule, type ConfigSchedule } from "../../config/config.ts";
import type { CliContext } from "../../program/context.ts";
import { EXIT, type ExitCode } from "../../program/exit-codes.ts";
import { asSchedule } from "../change/as-schedule.ts";
import { certificateWarnings, withCertificateFiles } from "../chains.ts";
import { inspectRotation, type Rotation } from "../inspect.ts";
import { requireSound } from "../require-sound.ts";
import { checkSource, entriesPath, loadSource, readSource, type RotationSource } from "../source.ts";
import type { ValidateFlags } from "./command.ts";
import type { Finding } from "./finding.ts";
import { mistakesIn } from "./mistakes.ts";
import { changesFrom, type ComparedRotation } from "./previous.ts";
import { printFindings } from "./render.ts";
import { warningsFor, type Expectations } from "./warnings.ts";

const HOUR = 3_600_000;

export async function runValidate(context: CliContext, flags: ValidateFlags): Promise<ExitCode> {
  const now = Date.now();
  const { file, unread } = await withCertificateFiles(await readSource(context, flags.config), context.cwd);
  const mistakes = mistakesIn(file, unread, now);
  const source = mistakes.length === 0 ? await checkSource(file) : undefined;
  const findings = source === undefined ? mistakes : await judge(context, source, flags, now);
  const code = exitCodeOf(findings);
  if (flags.json === true) context.output.json({ file: file.name, ok: code === EXIT.ok, findings });
  else printFindings(file.name, findings, context.output);
  return code;
}

async function judge(
  context: CliContext,
  source: RotationSource,
  flags: ValidateFlags,
  now: number,
): Promise<readonly Finding[]> {
  const previous = flags.previous === undefined ? undefined : await loadSource(context, flags.previous);
  const expected: Expectations = {
    now,
    entriesPath: entriesPath(source),
    optionsPath: source.file.isBare ? "" : "keys.",
    longestCacheMs: flags.longestCache === undefined ? undefined : flags.longestCache * HOUR,
    longestTokenMs: flags.longestToken === undefined ? undefined : flags.longestToken * 1000,
    nextWithinMs: flags.nextWithin === undefined ? undefined : flags.nextWithin * 24 * HOUR,
  };
  const after = compared(source, now);
  const warnings = [
    ...(isSchedule(source.keys) ? warningsFor(after.rotation, expected) : [listNote(flags)]),
    ...certificateWarnings(source, after.rotation, now),
  ];
  if (previous === undefined) return warnings;
  const before = compared(previous, now);
  requireSound(before.rotation, previous.file.name);
  return [...warnings, ...changesFrom(before, after, expected)];
}

/** A list has no dates. It is compared as the schedule that publishes the same now. */
function compared({ file, keys, config }: RotationSource, now: number): ComparedRotation {
  const schedule: ConfigSchedule = isSchedule(keys) ? keys : asSchedule(keys, UNKNOWN_LIFETIME, now);
  const path = file.isBare ? "" : "keys";
  const rotation: Rotation = inspectRotation(schedule, { path, now, trailing: config });
  return { rotation, signerOf: ({ index }) => schedule.entries[index]?.signer };
}

/** A list does not say how long tokens live. An hour is usual. */
const UNKNOWN_LIFETIME = 3600;

function listNote({ nextWithin }: ValidateFlags): Finding {
  return {
    level: nextWithin === undefined ? "note" : "warning",
    rule: "next-key",
    path: "keys",
    text: "keys is a list, which plans nothing",
    todo: "signpost rotate announce --max-token-lifetime SECONDS adds a key, and makes a schedule of the list",
  };
}

function exitCodeOf(findings: readonly Finding[]): ExitCode {
  if (findings.some(({ level }) => level === "mistake")) return EXIT.usage;
  return findings.some(({ level }) => level === "warning") ? EXIT.finding : EXIT.ok;
}
