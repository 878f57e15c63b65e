import { ConfigurationError } from "../errors.ts";
import { createKidCheck, KEY_SET_OPTIONS, readList, readTrailingKeys } from "../keyset/create-key-set.ts";
import { readSigningEntry } from "../keyset/read-keys.ts";
import type { PublishedKey } from "../keyset/types.ts";
import { assertOptions } from "../options/assert-options.ts";
import { readClock } from "../options/read-clock.ts";
import { requireRoomForChains, requireValidChain } from "./certificates.ts";
import { readMoment } from "./moment.ts";
import { createKeyCheck } from "./publish.ts";
import {
  readDurations,
  requireActive,
  requireSigner,
  type RotationScheduleOptions,
  SCHEDULE_OPTIONS,
} from "./schedule-options.ts";
import type { ScheduledEntry } from "./scheduled-entry.ts";
import {
  changesOf,
  type Durations,
  type PhaseStarts,
  type PlannedEntry,
  type PlannedKey,
  planTimeline,
  requireAnnounced,
  shortCachingOfAll,
} from "./timeline.ts";

/** The whole life of a key. All times are milliseconds since 1970, or Infinity. */
export interface InspectedKey extends PhaseStarts {
  /** Where the entry is in the list. */
  readonly index: number;
  /** The `kid`. */
  readonly keyId: string;
  /** Set by an emergency. */
  readonly emergencyAt: number | undefined;
}

/** What a schedule will do, and everything that is wrong with it. */
export interface InspectedSchedule {
  /** All mistakes. If there are none, `createRotationSchedule` accepts the schedule at this time. */
  readonly mistakes: readonly ConfigurationError[];
  /** The keys in the order in which they become active, without entries that cannot be read. */
  readonly keys: readonly InspectedKey[];
  /** When short caching is on: not including the end of each interval. In order, without overlap. */
  readonly shortCaching: readonly (readonly [from: number, until: number])[];
  /** All times when a key reaches another phase or the cache mode changes. In order. */
  readonly changes: readonly number[];
  /** The least time from an announcement to the activation, with the clock skew. In milliseconds. */
  readonly leadMs: number;
  /** The longest lifetime of a token. In milliseconds. */
  readonly tokenMs: number;
  /** How long a key stays published after it stopped signing. In milliseconds. */
  readonly retiringMs: number;
}

/**
 * Reads a schedule as `createRotationSchedule` does, and goes on after a mistake: for tools that show a schedule or list all
 * of its mistakes. Errors name the same arguments. It throws only for a clock that is none.
 *
 * @throws ConfigurationError for an option `now` that does not return a number.
 * @example
 * ```ts
 * import { inspectSchedule } from "@signpost/core/adapter";
 * import type { RotationScheduleOptions, ScheduledEntry } from "@signpost/core";
 *
 * export const mistakesIn = (entries: readonly ScheduledEntry[], options: RotationScheduleOptions): readonly string[] =>
 *   inspectSchedule(entries, options).mistakes.map((mistake) => mistake.message);
 * ```
 */
export function inspectSchedule(
  entries: readonly ScheduledEntry[],
  options: RotationScheduleOptions,
): InspectedSchedule {
  const { mistakes, collect } = createCollector();
  const { now = Date.now } = options;
  const time = readClock(now);
  for (const [name, value] of Object.entries(options)) {
    collect(() => assertOptions("options", Object.fromEntries([[name, value]]), SCHEDULE_OPTIONS));
  }
  const durations = durationsOf(options, collect);
  const trailing = trailingOf(options, collect);
  const list = collect(() => readList("entries", entries)) ?? [];
  const planned = list.flatMap((value, index) => entryOf(value, index, collect) ?? []);
  const keys = planTimeline(planned, durations);
  requireEach(keys, durations, trailing, collect);
  // What an entry that cannot be read would have done is not known.
  if (planned.length === list.length && Array.isArray(entries)) {
    collect(() => requireActive(keys, time));
    for (const key of keys) collect(() => requireSigner(key, time));
    for (const key of keys) collect(() => requireValidChain(key, time));
    collect(() => requireRoomForChains(keys, trailing, time));
  }
  return {
    mistakes,
    keys: keys.map(inspectedKey),
    shortCaching: shortCachingOfAll(keys),
    changes: changesOf(keys),
    leadMs: durations.announceMs + durations.skewMs,
    tokenMs: durations.tokenLifetimeMs,
    retiringMs: durations.tokenLifetimeMs + 2 * durations.skewMs,
  };
}

type Collect = <Result>(work: () => Result) => Result | undefined;

function createCollector(): { readonly mistakes: readonly ConfigurationError[]; readonly collect: Collect } {
  const mistakes: ConfigurationError[] = [];
  const collect: Collect = (work) => {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      mistakes.push(error);
      return undefined;
    }
  };
  return { mistakes, collect };
}

/** In this order, since the least `announceHours` depends on `sharedCaches`. */
const DURATION_OPTIONS = [
  "sharedCaches",
  "announceHours",
  "maxTokenLifetimeSeconds",
  "rotationWindowHours",
  "hintAcceptanceHours",
  "clockSkewSeconds",
] as const;

/** Each option that is wrong counts as missing. */
function durationsOf(options: RotationScheduleOptions, collect: Collect): Durations {
  let sound: RotationScheduleOptions = { maxTokenLifetimeSeconds: 1 };
  for (const name of DURATION_OPTIONS) {
    const tried = { ...sound, [name]: options[name] };
    if (collect(() => readDurations(tried)) !== undefined) sound = tried;
  }
  return readDurations(sound);
}

/** Keys that cannot be read are left out. */
function trailingOf(options: RotationScheduleOptions, collect: Collect): readonly PublishedKey[] {
  return (Object.keys(KEY_SET_OPTIONS) as (keyof typeof KEY_SET_OPTIONS)[]).flatMap((name) => {
    const given = options[name] ?? [];
    const length = Array.isArray(given) ? given.length : 1;
    return Array.from({ length }, (_, index) => index).flatMap((index) => {
      // One at a time, and named by its place in the list.
      const read = (): readonly PublishedKey[] =>
        readTrailingKeys(Array.isArray(given) ? { [name]: [given[index]] } : { [name]: given });
      return collect(() => placed(read, `${name}[0]`, `${name}[${index}]`)) ?? [];
    });
  });
}

function placed<Result>(read: () => Result, from: string, to: string): Result {
  try {
    return read();
  } catch (cause) {
    if (!(cause instanceof ConfigurationError) || !cause.argument.startsWith(from)) throw cause;
    const argument = to + cause.argument.slice(from.length);
    throw new ConfigurationError(argument, cause.message.slice(`${cause.argument}: `.length), { cause });
  }
}

function inspectedKey({ argument, key, emergencyAt, ...life }: PlannedKey<ScheduledEntry>): InspectedKey {
  const { announcedFrom, activeFrom, retiringFrom, withdrawnFrom, droppedFrom } = life;
  return {
    index: Number(/\d+/.exec(argument)?.[0]),
    keyId: key.published.keyId,
    emergencyAt,
    announcedFrom,
    activeFrom,
    retiringFrom,
    withdrawnFrom,
    droppedFrom,
  };
}

/** An entry with a part that cannot be read is left out. */
function entryOf(value: unknown, index: number, collect: Collect): PlannedEntry<ScheduledEntry> | undefined {
  const argument = `entries[${index}]`;
  const key = collect(() => readSigningEntry(value, argument, "announced"));
  // What is not an object has no dates either.
  if (typeof value !== "object" || value === null) return undefined;
  const entry = value as ScheduledEntry;
  const read = (name: "announcedFrom" | "activeFrom" | "emergencyAt"): number | undefined =>
    collect(() => readMoment(`${argument}.${name}`, entry[name]));
  const announcedFrom = read("announcedFrom");
  const activeFrom = read("activeFrom");
  const emergencyAt = entry.emergencyAt === undefined ? undefined : read("emergencyAt");
  const isWhole = entry.emergencyAt === undefined || emergencyAt !== undefined;
  if (key === undefined || announcedFrom === undefined || activeFrom === undefined || !isWhole) return undefined;
  return { entry, argument, key, announcedFrom, activeFrom, emergencyAt };
}

/** The rules of `createRotationSchedule` between keys, one key after the other. */
function requireEach(
  keys: readonly PlannedKey<ScheduledEntry>[],
  durations: Durations,
  trailing: readonly PublishedKey[],
  collect: Collect,
): void {
  for (const [index, key] of keys.entries()) collect(() => requireAnnounced(key, keys[index - 1], durations));
  const checkKid = createKidCheck("entries");
  for (const key of [...keys.map((each) => each.key.published), ...trailing]) collect(() => checkKid(key));
  const checkKey = createKeyCheck();
  for (const key of keys) collect(() => checkKey(key));
}
