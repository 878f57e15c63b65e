import { jwkThumbprint, type Signer } from "@signpost/core";
import type { CliContext } from "../../program/context.ts";
import { EXIT, type ExitCode } from "../../program/exit-codes.ts";
import type { ConfigSchedule, ScheduledConfigEntry } from "../../config/config.ts";
import { printable } from "../../terminal/printable.ts";
import { withOpenKeys, type OpenKeys } from "../change/open-keys.ts";
import { printEntry } from "../change/print-code.ts";
import { printOutcome, propose, type Outcome, type Proposal } from "../change/propose.ts";
import { loadTarget, type Target } from "../change/target.ts";
import { inspectRotation } from "../inspect.ts";
import { requireSound } from "../require-sound.ts";
import { entriesPath, jwksUriOf } from "../source.ts";
import { instantOf, instantText } from "../timeline/instants.ts";
import type { AnnounceFlags } from "./command.ts";
import { announcedEntry, requireAhead, type AnnouncedKey } from "./entry.ts";

export async function runAnnounce(context: CliContext, flags: AnnounceFlags): Promise<ExitCode> {
  const times = {
    announcedFrom: instantOf("--announced-from", flags.announcedFrom),
    activeFrom: instantOf("--active-from", flags.activeFrom),
  };
  const target = await loadTarget(context, flags);
  return withOpenKeys(context, target.source, async (keys) => announce(context, flags, times, target, keys));
}

type Times = Pick<AnnouncedKey, "announcedFrom" | "activeFrom">;

async function announce(
  context: CliContext,
  flags: AnnounceFlags,
  times: Times,
  target: Target,
  keys: OpenKeys,
): Promise<ExitCode> {
  const signer = await keys.openAndProbe("--signer", flags.signer);
  const { messages } = context;
  messages.line(`${messages.colors.green("✓")} signed and verified a probe with ${printable(signer.uri)}`);
  const others = await openOthers(keys, target);
  const keyId = flags.keyId ?? jwkThumbprint(signer.publicKey);
  const entry = announcedEntry({ keyId, signer: flags.signer, ...times }, target.before, target.now);
  const proposal = proposalOf(target, entry, [...others, signer]);
  const outcome = await propose(context, flags, proposal);
  report(context, flags, proposal, entry, outcome);
  return outcome.declined ? EXIT.finding : EXIT.ok;
}

/** The signers of the entries that the schedule has already, by their index. */
async function openOthers(keys: OpenKeys, { source, schedule }: Target): Promise<readonly (Signer | undefined)[]> {
  const signers: (Signer | undefined)[] = [];
  const list = entriesPath(source);
  for (const [index, { signer }] of schedule.entries.entries()) {
    const place = `${source.file.name}: ${list}[${index}].signer`;
    signers.push(signer === undefined ? undefined : await keys.open(place, signer));
  }
  return signers;
}

function proposalOf(target: Target, entry: ScheduledConfigEntry, signers: readonly (Signer | undefined)[]): Proposal {
  const { source, path, now } = target;
  const schedule: ConfigSchedule = { ...target.schedule, entries: [...target.schedule.entries, entry] };
  const inspect = (time: number): Proposal["after"] => {
    const rotation = inspectRotation(schedule, {
      path,
      now: time,
      trailing: source.config,
      signerOf: (index) => signers[index],
    });
    requireSound(rotation, source.file.name);
    return rotation;
  };
  return {
    target,
    schedule,
    after: inspect(now),
    at: Math.floor(now / 1000) * 1000,
    changes: [{ kind: "append", list: ["entries"], value: entry }],
    question: `Write this to ${printable(source.file.name)}?`,
    stillRight: () => {
      requireAhead(Date.parse(String(entry.announcedFrom)), Date.now());
      inspect(Date.now());
    },
  };
}

function report(
  context: CliContext,
  flags: AnnounceFlags,
  proposal: Proposal,
  entry: ScheduledConfigEntry,
  outcome: Outcome,
): void {
  const { target, schedule } = proposal;
  const { source, isMade } = target;
  const { file } = source;
  const { written, diff } = outcome;
  if (flags.json === true) {
    const entries = isMade ? { entries: schedule.entries } : {};
    context.output.json({ file: file.name, written, entry, ...entries, ...(diff === undefined ? {} : { diff }) });
  } else if (diff === undefined) {
    printEntry(context, proposal, entry);
  }
  const announced = instantText(Date.parse(String(entry.announcedFrom)));
  printOutcome(context, flags, proposal, outcome, [
    `Roll it out to every replica before ${announced}.`,
    `Then follow it: signpost check ${jwksUriOf(source) ?? "URL"} --watch --until ${printable(String(entry.keyId))}`,
  ]);
}
