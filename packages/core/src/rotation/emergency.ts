import { ConfigurationError } from "../errors.ts";
import { readObject, readSigningEntry } from "../keyset/read-keys.ts";
import type { KeySetEntry } from "../keyset/types.ts";
import { assertOptions, type OptionNames } from "../options/assert-options.ts";
import { readMoment } from "./moment.ts";
import { readAnnounceMs, readEntries } from "./schedule-options.ts";
import type { ScheduledEntry } from "./scheduled-entry.ts";
import { type PlannedEntry, toDateTime } from "./timeline.ts";

/** Options of `emergencyRotation`. */
export interface EmergencyOptions {
  /** The `kid` of the key that must not be trusted any more. */
  readonly revokedKeyId: string;
  /** When it happened: from then on short caching is on for the rotation window. */
  readonly at: Date | string;
  /** What signs instead, when the revoked key is the one that signs. Default: the next entry of the schedule. */
  readonly replacement?: KeySetEntry | undefined;
  /** As in the schedule: for how long caches may hold the set of before. Default 4 hours; 2 to 8784. */
  readonly announceHours?: number | undefined;
}

/** What to roll out after a key was revoked, and what that breaks. */
export interface EmergencyRotation {
  /** The entries to roll out, like any change of configuration. The revoked key is not among them. */
  readonly entries: readonly ScheduledEntry[];
  /** What this breaks, and until when if it is rolled out at once, for the operator. */
  readonly breaks: readonly string[];
}

const EMERGENCY_OPTIONS: OptionNames<EmergencyOptions> = {
  revokedKeyId: true,
  at: true,
  replacement: true,
  announceHours: true,
};

type Planned = PlannedEntry<ScheduledEntry>;

/**
 * Takes a key out of a schedule at once: neither published nor withdrawn but gone. When it is the one that signs, the
 * replacement takes its place in time, so that no other key's life changes. A pure function; it may break the
 * announcement rule, and says what it breaks. May be applied to its own result.
 *
 * @throws ConfigurationError when no entry has that kid, when nothing could sign in its place, and for a replacement
 * that is not needed, cannot sign, or has the kid or the key of an entry, the revoked one included.
 * @example
 * ```ts
 * import { createRotationSchedule, emergencyRotation, type ScheduledEntry, type Signer } from "@signpost/core";
 *
 * declare const entries: readonly ScheduledEntry[];
 * declare const fresh: Signer;
 * const emergency = emergencyRotation(entries, {
 *   revokedKeyId: "sig-2026-01",
 *   at: "2026-03-05T16:20:00Z",
 *   replacement: { keyId: "sig-2026-02", signer: fresh },
 * });
 * for (const consequence of emergency.breaks) process.stdout.write(`${consequence}\n`);
 * const schedule = createRotationSchedule(emergency.entries, { maxTokenLifetimeSeconds: 3600 });
 * ```
 */
export function emergencyRotation(entries: readonly ScheduledEntry[], options: EmergencyOptions): EmergencyRotation {
  assertOptions("options", options, EMERGENCY_OPTIONS);
  const at = readMoment("at", options.at);
  const holdMs = readAnnounceMs(options.announceHours, false);
  const planned = readEntries(entries).toSorted((a, b) => a.activeFrom - b.activeFrom);
  const index = planned.findIndex((entry) => keyIdOf(entry) === options.revokedKeyId);
  const revoked = planned[index];
  if (revoked === undefined) throw new ConfigurationError("revokedKeyId", "expected the kid of one of the entries");
  const next = planned[index + 1];
  const others = planned.filter((entry) => entry !== revoked);
  const trusted = `a relying party may trust it until ${toDateTime(at + holdMs)}, when the last cache has the new set`;
  const gone = `kid ${keyIdOf(revoked)}: its tokens and id_token_hints are refused here at once; ${trusted}`;

  // Not active yet: whoever signs goes on. Nothing was signed by it, but what was announced is trusted already.
  if (revoked.activeFrom > at) {
    refuseReplacement(options.replacement, "it does not sign yet");
    const active = revoked.announcedFrom > at ? undefined : others.findLast((entry) => entry.activeFrom <= at);
    const taken = `kid ${keyIdOf(revoked)}: it will not become active`;
    return {
      entries: change(others, active, { emergencyAt: new Date(at) }),
      breaks: [active === undefined ? taken : `${taken}; ${trusted}`],
    };
  }

  // The time of the revoked key passes on as well: else the key before it would seem to have signed until later.
  const place = { activeFrom: new Date(revoked.activeFrom), emergencyAt: new Date(at) };
  if (next !== undefined && next.activeFrom <= at) {
    refuseReplacement(options.replacement, "another key signs already");
    return { entries: change(others, next, place), breaks: [gone] };
  }
  if (options.replacement !== undefined) {
    const keyId = readReplacement(options.replacement, planned);
    const entry: ScheduledEntry = { ...copied(options.replacement), ...place, announcedFrom: new Date(at) };
    return { entries: [...change(others), entry], breaks: [gone, unannounced(keyId, at + holdMs)] };
  }
  if (next?.key.signer === undefined) {
    throw new ConfigurationError("replacement", "expected an entry with a signer: no later entry could sign instead");
  }
  const announcedFrom = Math.min(next.announcedFrom, at);
  const known = announcedFrom + holdMs;
  return {
    entries: change(others, next, { ...place, announcedFrom: new Date(announcedFrom) }),
    breaks: known > at ? [gone, unannounced(keyIdOf(next), known)] : [gone],
  };
}

/** The entries as they were configured, one of them with other moments. */
function change(
  entries: readonly Planned[],
  changed?: Planned,
  moments: Partial<Pick<ScheduledEntry, "announcedFrom" | "activeFrom" | "emergencyAt">> = {},
): readonly ScheduledEntry[] {
  return entries.map(({ entry }) => (entry === changed?.entry ? { ...copied(entry), ...moments } : entry));
}

const ENTRY_MEMBERS = ["keyId", "signer", "publicKey", "announcedFrom", "activeFrom", "emergencyAt"] as const;

/** A spread takes own members alone, and an entry may be an instance of a class. */
function copied<Entry extends KeySetEntry>(entry: Entry): Entry {
  const members = Object.entries(readObject(entry, "entries", ENTRY_MEMBERS));
  return Object.assign({ ...entry }, Object.fromEntries(members.filter(([, value]) => value !== undefined)));
}

function unannounced(keyId: string, knownFrom: number): string {
  return `kid ${keyId}: it signs before every cache has it; a relying party that does not refetch on an unknown kid refuses its tokens until ${toDateTime(knownFrom)}`;
}

/** The kid of a replacement that can sign and is new: neither kid nor key of any entry, least of all of the revoked one. */
function readReplacement(replacement: KeySetEntry, planned: readonly Planned[]): string {
  const { published, signer } = readSigningEntry(replacement, "replacement", "active");
  if (signer === undefined) throw new ConfigurationError("replacement", "expected an entry with a signer");
  for (const { argument, key } of planned) {
    const { keyId, publicKey } = key.published;
    if (keyId === published.keyId) {
      throw new ConfigurationError("replacement", `expected a kid of its own, got that of ${argument}`);
    }
    if (publicKey.x === published.publicKey.x && publicKey.y === published.publicKey.y) {
      throw new ConfigurationError("replacement", `expected a key of its own, got that of ${argument}`);
    }
  }
  return published.keyId;
}

function refuseReplacement(replacement: unknown, why: string): void {
  if (replacement !== undefined)
    throw new ConfigurationError("replacement", `expected none: the revoked key is not active, ${why}`);
}

function keyIdOf(entry: Planned): string {
  return entry.key.published.keyId;
}
