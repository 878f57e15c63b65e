import { ConfigurationError } from "../errors.ts";
import type { ReadSigningEntry } from "../keyset/read-keys.ts";

/** The durations of a schedule, all in milliseconds. */
export interface Durations {
  /** Minimum time from the announcement to the activation. */
  readonly announceMs: number;
  /** How much the clocks of two replicas, or of a replica and a relying party, may differ. */
  readonly skewMs: number;
  readonly tokenLifetimeMs: number;
  readonly hintAcceptanceMs: number;
  readonly rotationWindowMs: number;
}

/** A configured entry, with its dates in milliseconds since 1970. */
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

/** Where a key is in its life. An unpublished key is announced later, and a dropped key is no longer needed. */
export type Phase = "unpublished" | "announced" | "active" | "retiring" | "withdrawn" | "dropped";

/** The time `from` is inside the interval, the time `until` is not. */
export type Interval = readonly [from: number, until: number];

/** When each phase of a key begins: in milliseconds since 1970, or Infinity. */
export interface PhaseStarts {
  /** Published, but not signing. */
  readonly announcedFrom: number;
  /** Signing. */
  readonly activeFrom: number;
  /** Published until its last token has expired. */
  readonly retiringFrom: number;
  /** No longer published, only for an expired `id_token_hint`. */
  readonly withdrawnFrom: number;
  /** No longer needed. */
  readonly droppedFrom: number;
}

/** The whole life of one key. */
export interface PlannedKey<Entry> extends PlannedEntry<Entry>, PhaseStarts {
  /** When short caching is on because of this key. */
  readonly shortCaching: readonly Interval[];
}

/** The lives of all keys, in the order in which they become active. Pure: the same on every replica. */
export function planTimeline<Entry>(
  entries: readonly PlannedEntry<Entry>[],
  durations: Durations,
): readonly PlannedKey<Entry>[] {
  const ordered = entries.toSorted((a, b) => a.activeFrom - b.activeFrom);
  return ordered.map((planned, index) => {
    const retiringFrom = ordered[index + 1]?.activeFrom ?? Number.POSITIVE_INFINITY;
    // One skew for the clocks of verifier and publisher, and one that verifiers allow after `exp` (RFC 7519 section 4.1.4).
    const withdrawnFrom = retiringFrom + durations.tokenLifetimeMs + 2 * durations.skewMs;
    return {
      ...planned,
      retiringFrom,
      withdrawnFrom,
      droppedFrom: withdrawnFrom + durations.hintAcceptanceMs,
      shortCaching: shortCachingOf(planned, durations),
    };
  });
}

/**
 * The phase of a key at a given time, in milliseconds since 1970.
 *
 * @example
 * ```ts
 * import { phaseAt, type InspectedKey } from "@signpost/core/adapter";
 *
 * export const isPublished = (key: InspectedKey, time: number): boolean =>
 *   ["announced", "active", "retiring"].includes(phaseAt(key, time));
 * ```
 */
export function phaseAt(key: PhaseStarts, time: number): Phase {
  if (time >= key.droppedFrom) return "dropped";
  if (time >= key.withdrawnFrom) return "withdrawn";
  if (time >= key.retiringFrom) return "retiring";
  if (time >= key.activeFrom) return "active";
  return time >= key.announcedFrom ? "announced" : "unpublished";
}

/** Whether a time is in one of the intervals. */
export function isIn(intervals: readonly Interval[], time: number): boolean {
  return intervals.some(([from, until]) => time >= from && time < until);
}

/** All times when the published keys, the withdrawn keys or the cache mode change. In order, without duplicates. */
export function changesOf(keys: readonly PlannedKey<unknown>[]): readonly number[] {
  const moments = new Set([...keys.flatMap(phaseChangesOf), ...shortCachingOfAll(keys).flat()]);
  return [...moments].filter(Number.isFinite).toSorted((a, b) => a - b);
}

/** When short caching is on. In order, without overlap. */
export function shortCachingOfAll(keys: readonly PlannedKey<unknown>[]): readonly Interval[] {
  return mergeIntervals(keys.flatMap((key) => key.shortCaching));
}

/** The times when a key's phase changes. If an emergency activates a key before its announcement, that date changes nothing. */
function phaseChangesOf(key: PlannedKey<unknown>): readonly number[] {
  const starts = [key.announcedFrom, key.activeFrom, key.retiringFrom, key.withdrawnFrom, key.droppedFrom];
  // All times are whole milliseconds.
  return starts.filter((moment) => phaseAt(key, moment) !== phaseAt(key, moment - 1));
}

/** Merges intervals that overlap or touch. The result is in order. */
function mergeIntervals(intervals: readonly Interval[]): readonly Interval[] {
  const merged: [from: number, until: number][] = [];
  for (const [from, until] of intervals
    .filter((interval) => interval[0] < interval[1])
    .toSorted((a, b) => a[0] - b[0])) {
    const last = merged.at(-1);
    if (last === undefined || from > last[1]) merged.push([from, until]);
    else last[1] = Math.max(last[1], until);
  }
  return merged;
}

/** Checks that each key is announced long enough before it signs. The keys are in the order of `planTimeline`. */
export function requireAnnouncements(keys: readonly PlannedKey<unknown>[], durations: Durations): void {
  for (const [index, key] of keys.entries()) requireAnnounced(key, keys[index - 1], durations);
}

/** The same for one key, and the one that signs before it. */
export function requireAnnounced(
  planned: PlannedEntry<unknown>,
  previous: PlannedEntry<unknown> | undefined,
  { announceMs, skewMs }: Durations,
): void {
  const { argument, announcedFrom, activeFrom, emergencyAt } = planned;
  if (activeFrom === previous?.activeFrom) {
    const problem = `must differ from the activeFrom of ${previous.argument}`;
    throw new ConfigurationError(`${argument}.activeFrom`, problem);
  }
  // The rule does not apply in an emergency: `emergencyRotation` gives a key the dates of the key that was active before it.
  if (emergencyAt !== undefined && emergencyAt >= activeFrom) return;
  // Before the first key there was no set that a cache could serve.
  const lead = previous === undefined ? 0 : announceMs + skewMs;
  const earliest = announcedFrom + lead;
  if (activeFrom >= earliest) return;
  const why =
    lead === 0
      ? ""
      : `; caches may serve the set without it for ${announceMs / 3_600_000} h, and clocks may differ by ${skewMs / 1000} s`;
  throw new ConfigurationError(
    `${argument}.activeFrom`,
    `expected ${toDateTime(earliest)} or later: the key is announced from ${toDateTime(announcedFrom)}${why}`,
  );
}

function shortCachingOf(
  { announcedFrom, activeFrom, emergencyAt }: PlannedEntry<unknown>,
  { rotationWindowMs }: Durations,
): readonly Interval[] {
  // A key that was never announced came in an emergency, or is the first key, which is no rotation.
  const announced: readonly Interval[] =
    announcedFrom < activeFrom ? [[announcedFrom, activeFrom + rotationWindowMs]] : [];
  return emergencyAt === undefined ? announced : [...announced, [emergencyAt, emergencyAt + rotationWindowMs]];
}

export function toDateTime(time: number): string {
  return new Date(time).toISOString();
}
