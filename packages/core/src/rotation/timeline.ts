import { ConfigurationError } from "../errors.ts";
import type { ReadSigningEntry } from "../keyset/read-keys.ts";

/** The lengths of a schedule, all in milliseconds. */
export interface Durations {
  /** From the announcement to the activation, at least. */
  readonly announceMs: number;
  /** How far the clocks of two replicas, or of a replica and a relying party, may be apart. */
  readonly skewMs: number;
  readonly tokenLifetimeMs: number;
  readonly hintAcceptanceMs: number;
  readonly rotationWindowMs: number;
}

/** An entry as it was configured, its moments in milliseconds since 1970. */
export interface PlannedEntry<Entry> {
  readonly entry: Entry;
  /** The name of the entry in messages: `entries[2]`. */
  readonly argument: string;
  readonly key: ReadSigningEntry;
  readonly announcedFrom: number;
  readonly activeFrom: number;
  /** Set by an emergency, which may break the announcement rule. */
  readonly emergencyAt: number | undefined;
}

export type Phase = "unpublished" | "announced" | "active" | "retiring" | "withdrawn" | "dropped";

/** One key's whole life. Each moment is the first one of its phase. */
export interface PlannedKey<Entry> extends PlannedEntry<Entry> {
  readonly retiringFrom: number;
  readonly withdrawnFrom: number;
  readonly droppedFrom: number;
  /** The times of short caching that belong to this key's arrival. */
  readonly rotationFrom: number;
  readonly rotationUntil: number;
}

/** The lives of all keys in the order in which they become active. Pure: the same on every replica. */
export function planTimeline<Entry>(
  entries: readonly PlannedEntry<Entry>[],
  durations: Durations,
): readonly PlannedKey<Entry>[] {
  const ordered = entries.toSorted((a, b) => a.activeFrom - b.activeFrom);
  return ordered.map((planned, index) => {
    const previous = ordered[index - 1];
    if (previous !== undefined) requireAnnounced(planned, previous, durations);
    const retiringFrom = ordered[index + 1]?.activeFrom ?? Number.POSITIVE_INFINITY;
    // A replica whose clock is behind signs until one skew later, and whoever verifies may be another skew behind.
    const withdrawnFrom = retiringFrom + durations.tokenLifetimeMs + 2 * durations.skewMs;
    return {
      ...planned,
      retiringFrom,
      withdrawnFrom,
      droppedFrom: withdrawnFrom + durations.hintAcceptanceMs,
      ...rotationTimes(planned, previous === undefined, durations),
    };
  });
}

/** What a key is at a moment. */
export function phaseAt(key: PlannedKey<unknown>, time: number): Phase {
  if (time >= key.droppedFrom) return "dropped";
  if (time >= key.withdrawnFrom) return "withdrawn";
  if (time >= key.retiringFrom) return "retiring";
  if (time >= key.activeFrom) return "active";
  return time >= key.announcedFrom ? "announced" : "unpublished";
}

/** Every moment at which a phase or the cache mode may change, in order, each once. */
export function momentsOf(keys: readonly PlannedKey<unknown>[]): readonly number[] {
  const moments = keys.flatMap((key) => [
    key.announcedFrom,
    key.activeFrom,
    key.withdrawnFrom,
    key.droppedFrom,
    key.rotationFrom,
    key.rotationUntil,
  ]);
  return [...new Set(moments)].filter(Number.isFinite).toSorted((a, b) => a - b);
}

function requireAnnounced(
  planned: PlannedEntry<unknown>,
  previous: PlannedEntry<unknown>,
  { announceMs, skewMs }: Durations,
): void {
  if (planned.activeFrom === previous.activeFrom) {
    throw new ConfigurationError(
      `${planned.argument}.activeFrom`,
      `expected a moment of its own, got that of ${previous.argument}`,
    );
  }
  if (planned.emergencyAt !== undefined) return;
  const earliest = planned.announcedFrom + announceMs + skewMs;
  if (planned.activeFrom < earliest) {
    throw new ConfigurationError(
      `${planned.argument}.activeFrom`,
      `expected ${toDateTime(earliest)} or later: announced from ${toDateTime(planned.announcedFrom)}, ` +
        `and caches may hold the set without it for ${announceMs / 3_600_000} h, clocks be ${skewMs / 1000} s apart`,
    );
  }
}

function rotationTimes(
  { announcedFrom, activeFrom, emergencyAt }: PlannedEntry<unknown>,
  first: boolean,
  { rotationWindowMs }: Durations,
): { readonly rotationFrom: number; readonly rotationUntil: number } {
  if (emergencyAt !== undefined) return { rotationFrom: emergencyAt, rotationUntil: emergencyAt + rotationWindowMs };
  // Nothing is rotated when the first key appears.
  if (first) return { rotationFrom: Number.POSITIVE_INFINITY, rotationUntil: Number.POSITIVE_INFINITY };
  return { rotationFrom: announcedFrom, rotationUntil: activeFrom + rotationWindowMs };
}

export function toDateTime(time: number): string {
  return new Date(time).toISOString();
}
