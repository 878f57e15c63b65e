import { phaseAt } from "@signpost/core/adapter";
import type { CliContext } from "../../program/context.ts";
import { EXIT, type ExitCode } from "../../program/exit-codes.ts";
import { inspectRotation, isCachedShortly, type Rotation, type RotationKey } from "../inspect.ts";
import { printable } from "../../terminal/printable.ts";
import { tableText } from "../../terminal/table.ts";
import { requireSound } from "../require-sound.ts";
import { entriesPath, loadSource, requireSchedule, type RotationSource } from "../source.ts";
import { eventFinder, isOver, nextChange, stateWords } from "../timeline/events.ts";
import { distance, instantOf, instantOrNull, instantText } from "../timeline/instants.ts";
import { printEvents, printLegend, printPicture } from "../timeline/print.ts";
import type { PlanFlags } from "./command.ts";

export async function runPlan(context: CliContext, flags: PlanFlags): Promise<ExitCode> {
  const asked = instantOf("--at", flags.at);
  const source = await loadSource(context, flags.config);
  const schedule = requireSchedule(source);
  const now = Date.now();
  const path = source.file.isBare ? "" : "keys";
  const rotation = inspectRotation(schedule, { path, now, trailing: source.config });
  requireSound(rotation, source.file.name);
  // Whole seconds, as people write times.
  const at = asked ?? Math.floor(now / 1000) * 1000;
  if (flags.json === true) context.output.json(asJson(source, rotation, at));
  else printPlan(context, source.file.name, rotation, at, asked === undefined);
  return EXIT.ok;
}

function printPlan({ output }: CliContext, name: string, rotation: Rotation, at: number, isNow: boolean): void {
  const { colors } = output;
  const next = nextChange(rotation, at);
  output.line(colors.bold(printable(name)));
  const nextRow =
    next === undefined
      ? ["next", "", "nothing changes"]
      : ["next", instantText(next), `${distance(next, at)}: ${eventFinder(rotation)(next).words}`];
  output.line(tableText([[isNow ? "now" : "at", instantText(at), stateWords(rotation, at)], nextRow], output));
  output.line();
  printPicture(rotation, at, output);
  printLegend(rotation, at, output);
  output.line();
  printEvents(rotation, at, output);
  const over = rotation.keys.filter((key) => isOver(key, at)).map(({ label }) => label);
  if (over.length > 0) output.line(`No longer needed, and not shown: ${over.join(", ")}`);
}

function asJson(source: RotationSource, rotation: Rotation, at: number): object {
  const next = nextChange(rotation, at);
  const eventAt = eventFinder(rotation);
  return {
    at: instantText(at),
    cacheMode: isCachedShortly(rotation, at) ? "short" : "long",
    nextChange: next === undefined ? null : instantText(next),
    keys: rotation.keys.map((key) => keyJson(source, key, at)),
    shortCaching: rotation.shortCaching.map(([from, until]) => ({
      from: instantText(from),
      until: instantText(until),
    })),
    changes: rotation.changes.map((time) => ({ at: instantText(time), what: eventAt(time).words })),
  };
}

function keyJson(source: RotationSource, key: RotationKey, at: number): object {
  const entry = requireSchedule(source).entries[key.index];
  const hasKid = entry?.signer === undefined || entry.keyId !== undefined;
  return {
    path: `${entriesPath(source)}[${key.index}]`,
    kid: hasKid ? key.keyId : null,
    signer: entry?.signer ?? null,
    phase: phaseAt(key, at),
    announcedFrom: instantText(key.announcedFrom),
    activeFrom: instantText(key.activeFrom),
    retiringFrom: instantOrNull(key.retiringFrom),
    withdrawnFrom: instantOrNull(key.withdrawnFrom),
    droppedFrom: instantOrNull(key.droppedFrom),
  };
}
