import { ConfigurationError } from "../errors.ts";
import { given } from "../given.ts";
import { readObject, readSigningEntry } from "../keyset/read-keys.ts";
import type { KeySetEntry } from "../keyset/types.ts";
import { assertOptions, type OptionNames } from "../options/assert-options.ts";
import { readMoment } from "./moment.ts";
import { readAnnounceMs, readEntries } from "./schedule-options.ts";
import type { ScheduledEntry } from "./scheduled-entry.ts";
import { type PlannedEntry, toDateTime } from "./timeline.ts";

/** Options of `emergencyRotation`. */
export interface EmergencyOptions {
  /** The `kid` of the key that must no longer be trusted. */
  readonly revokedKeyId: string;
  /**
   * The current time, when you roll out the result, and not when the key was stolen: caches got the key until now. Short
   * caching is on from this time until the end of the rotation window.
   */
  readonly at: Date | string;
  /** The entry that signs instead, if the revoked key is active. Default: the next entry of the schedule. */
  readonly replacement?: KeySetEntry | undefined;
  /** Same as in the schedule: how many hours a cache may serve the older set. Default 4; 2 to 8784. */
  readonly announceHours?: number | undefined;
}

/** What to deploy after a key was revoked, and what that breaks. */
export interface EmergencyRotation {
  /** The entries to deploy, like any configuration change. The revoked key is not among them. */
  readonly entries: readonly ScheduledEntry[];
  /** For the operator: what this breaks, and until when if it is deployed immediately. */
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
 * Removes a key from a schedule immediately. The key is no longer published, and it is not kept as withdrawn either. If
 * it is the active key, the replacement takes over its dates, so that the dates of all other keys stay the same. This is
 * a pure function. It may break the announcement rule, and reports what it breaks. You can apply it again to its result.
 *
 * @throws ConfigurationError if no entry has that kid, if no other entry can sign instead, and for a replacement that is
 * not needed, cannot sign, or has the kid or the key of an existing entry, including the revoked one.
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
  if (revoked === undefined) {
    const kids = planned.map((entry) => JSON.stringify(keyIdOf(entry))).join(", ");
    throw new ConfigurationError(
      "revokedKeyId",
      `expected the kid of an entry (${kids}), got ${given(options.revokedKeyId)}`,
    );
  }
  const next = planned[index + 1];
  const others = planned.filter((entry) => entry !== revoked);
  // Some libraries keep each key by its kid, and not the set.
  const trusted = `a relying party may trust it until ${toDateTime(at + holdMs)}, when every cache has the new set, or until it restarts if it keeps each key by its kid`;
  const gone = `kid ${keyIdOf(revoked)}: its tokens and id_token_hints are refused here immediately; ${trusted}`;

  // Not active yet: the active key goes on signing. The revoked key has signed nothing, but if it was announced, it is
  // already trusted.
  if (revoked.activeFrom > at) {
    refuseReplacement(options.replacement, "it has not started to sign");
    const active = revoked.announcedFrom > at ? undefined : others.findLast((entry) => entry.activeFrom <= at);
    const taken = `kid ${keyIdOf(revoked)}: it will not become active`;
    return {
      entries: change(others, active, { emergencyAt: new Date(at) }),
      breaks: [active === undefined ? taken : `${taken}; ${trusted}`],
    };
  }

  // The revoked key's dates are passed on. Otherwise the key before it would seem to have signed until later.
  const place = { activeFrom: new Date(revoked.activeFrom), emergencyAt: new Date(at) };
  if (next !== undefined && next.activeFrom <= at) {
    refuseReplacement(options.replacement, "another key already signs");
    return { entries: change(others, next, place), breaks: [gone] };
  }
  if (options.replacement !== undefined) {
    const keyId = readReplacement(options.replacement, planned);
    const entry: ScheduledEntry = { ...copied(options.replacement), ...place, announcedFrom: new Date(at) };
    return { entries: [...change(others), entry], breaks: [gone, unannounced(keyId, at + holdMs)] };
  }
  if (next?.key.signer === undefined) {
    throw new ConfigurationError(
      "replacement",
      "expected an entry with a signer, since no later entry can sign instead",
    );
  }
  const announcedFrom = Math.min(next.announcedFrom, at);
  const known = announcedFrom + holdMs;
  return {
    entries: change(others, next, { ...place, announcedFrom: new Date(announcedFrom) }),
    breaks: known > at ? [gone, unannounced(keyIdOf(next), known)] : [gone],
  };
}

/** The configured entries, one of them with changed dates. */
function change(
  entries: readonly Planned[],
  changed?: Planned,
  moments: Partial<Pick<ScheduledEntry, "announcedFrom" | "activeFrom" | "emergencyAt">> = {},
): readonly ScheduledEntry[] {
  return entries.map(({ entry }) => (entry === changed?.entry ? { ...copied(entry), ...moments } : entry));
}

const ENTRY_MEMBERS = [
  "keyId",
  "signer",
  "publicKey",
  "certificates",
  "announcedFrom",
  "activeFrom",
  "emergencyAt",
] as const;

/** An entry may be an instance of a class, and a spread only copies own members. */
function copied<Entry extends KeySetEntry>(entry: Entry): Entry {
  const members = Object.entries(readObject(entry, "entries", ENTRY_MEMBERS));
  return Object.assign({ ...entry }, Object.fromEntries(members.filter(([, value]) => value !== undefined)));
}

function unannounced(keyId: string, knownFrom: number): string {
  return `kid ${keyId}: it signs before every cache has it; a relying party that does not refetch the JWKS for an unknown kid refuses its tokens until ${toDateTime(knownFrom)}`;
}

/** The kid of the replacement. It must be able to sign, and no entry may have its kid or its key, not even the revoked one. */
function readReplacement(replacement: KeySetEntry, planned: readonly Planned[]): string {
  const { published, signer } = readSigningEntry(replacement, "replacement", "active");
  if (signer === undefined) throw new ConfigurationError("replacement", "expected an entry with a signer");
  for (const { argument, key } of planned) {
    const { keyId, publicKey } = key.published;
    if (keyId === published.keyId) {
      throw new ConfigurationError("replacement", `expected a new kid, got the kid of ${argument}`);
    }
    if (publicKey.x === published.publicKey.x && publicKey.y === published.publicKey.y) {
      throw new ConfigurationError("replacement", `expected a new key, got the key of ${argument}`);
    }
  }
  return published.keyId;
}

function refuseReplacement(replacement: unknown, why: string): void {
  if (replacement !== undefined)
    throw new ConfigurationError("replacement", `remove it: the revoked key is not active, ${why}`);
}

function keyIdOf(entry: Planned): string {
  return entry.key.published.keyId;
}
