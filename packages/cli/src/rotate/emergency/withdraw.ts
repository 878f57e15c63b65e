import { emergencyRotation, type KeySetEntry, type ScheduledEntry, type Signer } from "@signpost/core";
import type { ConfigSchedule, ScheduledConfigEntry } from "../../config/config.ts";
import { standIn } from "../../config/config-keys.ts";
import type { JsonChange } from "../change/json-edit.ts";
import { withSigner } from "../inspect.ts";
import { labelOf } from "../source.ts";
import { instantText } from "../timeline/instants.ts";

/** A key that signs in place of the withdrawn one: as the file names it, and opened. */
export interface Replacement {
  readonly entry: { readonly keyId: string; readonly signer: string };
  readonly opened: KeySetEntry;
  /** The signers of the schedule that could be opened, by the index of their entry. */
  readonly others: readonly (Signer | undefined)[];
}

/** A schedule without a key, and what that takes. */
export interface Withdrawal {
  readonly schedule: ConfigSchedule;
  readonly changes: readonly JsonChange[];
  /** What relying parties see, and until when. */
  readonly breaks: readonly string[];
  /** Which entry of the given schedule is which of the new one. Undefined for a replacement. */
  readonly origins: readonly (number | undefined)[];
}

/** Takes an entry out of a schedule, as `emergencyRotation` does. Opens nothing: a new key stands for each that signs. */
export function withdraw(
  schedule: ConfigSchedule,
  revoked: { readonly index: number; readonly keyId: string },
  at: number,
  replacement: Replacement | undefined,
): Withdrawal {
  const { entries } = schedule;
  const given = entries.map((entry, index): ScheduledEntry => {
    // The kid of a key that is not opened is not known. In messages its URI stands for it.
    const keyId = index === revoked.index ? revoked.keyId : labelOf(entry, "").slice(0, MAX_KID);
    return {
      ...withSigner(entry, () => replacement?.others[index] ?? standIn()),
      ...(entry.signer === undefined && entry.keyId === undefined ? {} : { keyId }),
    };
  });
  const { entries: result, breaks } = emergencyRotation(given, {
    revokedKeyId: revoked.keyId,
    at: new Date(at),
    announceHours: schedule.announceHours,
    replacement: replacement?.opened,
  });
  const moved = result.map((entry) => movedFrom(entry, given));
  // The new key is written in the place of the old one.
  const fresh = result.find((_, index) => moved[index] === undefined);
  const freshEntry = fresh === undefined || replacement === undefined ? undefined : dated(replacement.entry, fresh);
  const kept = entries.flatMap((entry, index): readonly KeptEntry[] => {
    if (index === revoked.index) return freshEntry === undefined ? [] : [{ entry: freshEntry, origin: undefined }];
    const changed = result[moved.indexOf(index)];
    return [{ entry: changed === undefined ? entry : dated(entry, changed, given[index]), origin: index }];
  });
  return {
    schedule: { ...schedule, entries: kept.map(({ entry }) => entry) },
    changes: [
      freshEntry === undefined
        ? { kind: "remove", list: ["entries"], index: revoked.index }
        : { kind: "replace", path: ["entries", revoked.index], value: freshEntry },
      ...kept.flatMap(({ entry, origin }) => (origin === undefined ? [] : dateChanges(entry, entries[origin], origin))),
    ],
    breaks: breaks.map((words) => words.replaceAll(".000Z", "Z")),
    origins: kept.map(({ origin }) => origin),
  };
}

interface KeptEntry {
  readonly entry: ScheduledConfigEntry;
  readonly origin: number | undefined;
}

const MAX_KID = 256;
const DATES = ["announcedFrom", "activeFrom", "emergencyAt"] as const;

/** The entry that a resulting entry was, by its key. */
function movedFrom(entry: ScheduledEntry, given: readonly ScheduledEntry[]): number | undefined {
  const keyOf = (one: ScheduledEntry): unknown => ("signer" in one ? one.signer : one.publicKey);
  const index = given.findIndex((one) => keyOf(one) === keyOf(entry));
  return index === -1 ? undefined : index;
}

/** An entry of the file with the dates of an entry of the schedule. Dates that stay are left as they are written. */
function dated(
  entry: Partial<ScheduledConfigEntry>,
  dates: ScheduledEntry,
  before?: ScheduledEntry,
): ScheduledConfigEntry {
  const changed = DATES.flatMap((name) => {
    const date = dates[name];
    return date === undefined || date === before?.[name] ? [] : [[name, instantText(new Date(date).getTime())]];
  });
  const { announcedFrom = dates.announcedFrom, activeFrom = dates.activeFrom } = entry;
  return { ...entry, announcedFrom, activeFrom, ...Object.fromEntries(changed) };
}

function dateChanges(
  entry: ScheduledConfigEntry,
  before: ScheduledConfigEntry | undefined,
  index: number,
): readonly JsonChange[] {
  return DATES.flatMap((name) =>
    entry[name] === before?.[name]
      ? []
      : [{ kind: "set", object: ["entries", index], name, value: String(entry[name]) } as const],
  );
}
