import { isSchedule, type ConfigSchedule } from "../../config/config.ts";
import { decodeText } from "../../config/load-file.ts";
import { CliError } from "../../program/cli-error.ts";
import type { CliContext } from "../../program/context.ts";
import { EXIT } from "../../program/exit-codes.ts";
import { canAsk } from "../../program/prompts.ts";
import type { ChangeFlags } from "../flags.ts";
import { inspectRotation, type Rotation } from "../inspect.ts";
import { requireSound } from "../require-sound.ts";
import { loadSource, requireSchedule, type RotationSource } from "../source.ts";
import { asSchedule } from "./as-schedule.ts";
import { requireWritable } from "./write-config.ts";

/** What a command is about to change. */
export interface Target {
  readonly source: RotationSource;
  readonly schedule: ConfigSchedule;
  /** The schedule was made of a list, and replaces it. */
  readonly isMade: boolean;
  /** The JSON path of the schedule in the file: `keys`, or nothing if it is the whole file. */
  readonly path: string;
  /** The text of a JSON file, without a byte order mark. Undefined for a configuration that is code, which is never written. */
  readonly text: string | undefined;
  readonly before: Rotation;
  readonly now: number;
}

/** Loads what is to be changed. Refuses what could not be written, or would be written without consent, before any key is opened. */
export async function loadTarget(context: CliContext, flags: ChangeFlags): Promise<Target> {
  const source = await loadSource(context, flags.config);
  const { path, bytes, isBare } = source.file;
  const text = bytes === undefined ? undefined : decodeText(bytes, path);
  if (text !== undefined && flags.dryRun !== true) {
    requireConsentPossible(context, flags);
    await requireWritable(path);
  }
  const now = Date.now();
  const schedule = scheduleOf(source, flags, now);
  const jsonPath = isBare ? "" : "keys";
  const before = inspectRotation(schedule, { path: jsonPath, now, trailing: source.config });
  requireSound(before, source.file.name);
  return { source, schedule, isMade: !isSchedule(source.keys), path: jsonPath, text, before, now };
}

function scheduleOf(source: RotationSource, { maxTokenLifetime }: ChangeFlags, now: number): ConfigSchedule {
  if (maxTokenLifetime === undefined) return requireSchedule(source);
  if (!isSchedule(source.keys)) return asSchedule(source.keys, maxTokenLifetime, now);
  throw new CliError(EXIT.usage, "flags", "--max-token-lifetime is for keys that are a list, and there is a schedule");
}

function requireConsentPossible(context: CliContext, { yes }: ChangeFlags): void {
  if (yes === true || canAsk(context)) return;
  throw new CliError(EXIT.usage, "no_terminal", "There is no terminal to ask before the file is written", {
    hint: "--yes writes without a question, and --dry-run shows the change",
  });
}
