import { ConfigurationError } from "../errors.ts";
import { readSigningEntry } from "../keyset/read-keys.ts";
import type { KeySetEntry } from "../keyset/types.ts";
import { readMoment } from "./moment.ts";
import { readEntries } from "./schedule-options.ts";
import { type PlannedEntry, toDateTime } from "./timeline.ts";
import type { ScheduledEntry } from "./types.ts";

export interface EmergencyOptions {
  /** The `kid` of the key that must not be trusted any more. */
  readonly revokedKeyId: string;
  /** When it happened: from then on short caching is on for the rotation window. */
  readonly at: Date | string;
  /** What signs instead, when the revoked key is the one that signs. Default: the next entry of the schedule. */
  readonly replacement?: KeySetEntry | undefined;
}

export interface EmergencyRotation {
  /** The entries to roll out, like any change of configuration. The revoked key is not among them. */
  readonly entries: readonly ScheduledEntry[];
  /** What this breaks, and until when, for the operator. */
  readonly breaks: readonly string[];
}

// How long a cache may hold a set, a shared one without `Age` included: the default of `announceHours`.
const CACHE_HOLD_MS = 4 * 3_600_000;

/**
 * Takes a key out of a schedule at once: neither published nor withdrawn but gone. When it is the one that signs, the
 * replacement takes its place in time, so that no other key's life changes. A pure function; it may break the
 * announcement rule, and says what it breaks.
 *
 * @throws ConfigurationError when no entry has that kid, or nothing could sign in its place.
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
  const at = readMoment("at", options.at);
  const planned = readEntries(entries).toSorted((a, b) => a.activeFrom - b.activeFrom);
  const index = planned.findIndex((entry) => keyIdOf(entry) === options.revokedKeyId);
  const revoked = planned[index];
  if (revoked === undefined) throw new ConfigurationError("revokedKeyId", "expected the kid of one of the entries");
  const next = planned[index + 1];
  const others = planned.filter((entry) => entry !== revoked).map((entry) => entry.entry);
  const gone = `kid ${revoked.key.published.keyId}: its tokens and id_token_hints are refused here at once; a relying party may trust it until its cache has the new set, ${toDateTime(at + CACHE_HOLD_MS)} at the latest`;

  // Not active yet: whoever signs goes on, and nothing was signed by it.
  if (revoked.activeFrom > at) {
    refuseReplacement(options.replacement, "it does not sign yet");
    return { entries: others, breaks: [`kid ${revoked.key.published.keyId}: it will not become active`] };
  }

  const signedUntil = next?.activeFrom ?? Number.POSITIVE_INFINITY;
  if (signedUntil <= at) {
    refuseReplacement(options.replacement, "another key signs already");
    // The next key takes over its time as well: else the key before it would seem to have signed until then.
    return { entries: inPlaceOf(revoked, next, others, at), breaks: [gone] };
  }
  if (options.replacement !== undefined) {
    const { keyId } = readSigningEntry(options.replacement, "replacement", "active").published;
    const entry: ScheduledEntry = { ...options.replacement, ...placeOf(revoked, at), announcedFrom: new Date(at) };
    return { entries: [...others, entry], breaks: [gone, unannounced(keyId, at)] };
  }
  if (next === undefined) {
    throw new ConfigurationError("replacement", "expected an entry with a signer: no later entry could sign instead");
  }
  const early = next.announcedFrom + CACHE_HOLD_MS > at ? [unannounced(keyIdOf(next), next.announcedFrom)] : [];
  return { entries: inPlaceOf(revoked, next, others, at), breaks: [gone, ...early] };
}

function placeOf(
  revoked: PlannedEntry<ScheduledEntry>,
  at: number,
): Pick<ScheduledEntry, "activeFrom" | "emergencyAt"> {
  return { activeFrom: new Date(revoked.activeFrom), emergencyAt: new Date(at) };
}

function inPlaceOf(
  revoked: PlannedEntry<ScheduledEntry>,
  next: PlannedEntry<ScheduledEntry> | undefined,
  others: readonly ScheduledEntry[],
  at: number,
): readonly ScheduledEntry[] {
  return others.map((entry) => (entry === next?.entry ? { ...entry, ...placeOf(revoked, at) } : entry));
}

function unannounced(keyId: string, announcedFrom: number): string {
  return `kid ${keyId}: it signs before every cache has it; a relying party that does not refetch on an unknown kid refuses its tokens until ${toDateTime(announcedFrom + CACHE_HOLD_MS)}`;
}

function refuseReplacement(replacement: unknown, why: string): void {
  if (replacement !== undefined)
    throw new ConfigurationError("replacement", `expected none: the revoked key is not active, ${why}`);
}

function keyIdOf(entry: PlannedEntry<ScheduledEntry>): string {
  return entry.key.published.keyId;
}
