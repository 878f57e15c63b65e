import { ConfigurationError } from "../errors.ts";
import { KEY_SET_OPTIONS, type KeySetOptions, readList } from "../keyset/create-key-set.ts";
import { readSigningEntry } from "../keyset/read-keys.ts";
import type { OptionNames } from "../options/assert-options.ts";
import { readFlag, readNumber, readWholeNumber } from "../options/read-values.ts";
import { readMoment } from "./moment.ts";
import type { ScheduledEntry } from "./scheduled-entry.ts";
import { type Durations, phaseAt, type PlannedEntry, type PlannedKey, toDateTime } from "./timeline.ts";

/** Options of `createRotationSchedule`. */
export interface RotationScheduleOptions extends KeySetOptions {
  /** The longest lifetime of any token, in seconds. A retiring key stays published that long. 1 to 315,360,000. */
  readonly maxTokenLifetimeSeconds: number;
  /**
   * Minimum hours that a key is published before it signs. Default 4: max-age plus stale-while-revalidate is 2 h, and
   * twice that behind a shared cache that sends no `Age`. 4 to 8784, or 2 to 8784 with `sharedCaches: false`.
   */
  readonly announceHours?: number | undefined;
  /** `false` means that there is no shared cache between the OP and its relying parties. Default true. */
  readonly sharedCaches?: boolean | undefined;
  /** Hours of short caching after an activation. Default 24; 0 to 8784. */
  readonly rotationWindowHours?: number | undefined;
  /** How many hours a withdrawn key still verifies an expired `id_token_hint`. Default 336 (14 days); 0 to 87,840. */
  readonly hintAcceptanceHours?: number | undefined;
  /** How much two clocks may differ, in seconds. Default 60; 0 to 3600. */
  readonly clockSkewSeconds?: number | undefined;
  /** The clock, in milliseconds since 1970. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
  /** Called once for each entry that is no longer needed, so that you can close its signer. Default: not called. */
  readonly onDrop?: ((entry: ScheduledEntry) => void | Promise<void>) | undefined;
}

export const SCHEDULE_OPTIONS: OptionNames<RotationScheduleOptions> = {
  ...KEY_SET_OPTIONS,
  maxTokenLifetimeSeconds: true,
  announceHours: true,
  sharedCaches: true,
  rotationWindowHours: true,
  hintAcceptanceHours: true,
  clockSkewSeconds: true,
  now: true,
  onDrop: true,
};

/** max-age plus stale-while-revalidate (RFC 5861 section 3): how long one cache may serve a set. */
const CACHE_HOURS = 2;
/** Twice that behind a shared cache: without `Age`, a response from it looks new. */
const SHARED_CACHE_HOURS = 2 * CACHE_HOURS;
const HOUR_MS = 3_600_000;
const MAX_HOURS = 8784;
const MAX_LIFETIME_SECONDS = 315_360_000;

export function readDurations(options: RotationScheduleOptions): Durations {
  const { clockSkewSeconds = 60 } = options;
  const sharedCaches = readFlag("sharedCaches", options.sharedCaches, true);
  const lifetime = readWholeNumber("maxTokenLifetimeSeconds", options.maxTokenLifetimeSeconds, 1, MAX_LIFETIME_SECONDS);
  return {
    announceMs: readAnnounceMs(options.announceHours, sharedCaches),
    rotationWindowMs: hoursToMs("rotationWindowHours", options.rotationWindowHours, 24, 0, MAX_HOURS),
    hintAcceptanceMs: hoursToMs("hintAcceptanceHours", options.hintAcceptanceHours, 336, 0, 10 * MAX_HOURS),
    tokenLifetimeMs: 1000 * lifetime,
    skewMs: 1000 * readWholeNumber("clockSkewSeconds", clockSkewSeconds, 0, 3600),
  };
}

export function readAnnounceMs(announceHours: unknown, sharedCaches: boolean): number {
  const least = sharedCaches ? SHARED_CACHE_HOURS : CACHE_HOURS;
  return hoursToMs("announceHours", announceHours, SHARED_CACHE_HOURS, least, MAX_HOURS);
}

export function readEntries(entries: unknown): readonly PlannedEntry<ScheduledEntry>[] {
  return readList("entries", entries).map((value, index) => {
    const argument = `entries[${index}]`;
    const key = readSigningEntry(value, argument, "announced");
    // readSigningEntry has already refused anything that is not an object.
    const entry = value as ScheduledEntry;
    return { entry, argument, key, ...readMoments(entry, argument) };
  });
}

type Moments = Pick<PlannedEntry<ScheduledEntry>, "announcedFrom" | "activeFrom" | "emergencyAt">;

function readMoments({ announcedFrom, activeFrom, emergencyAt }: ScheduledEntry, argument: string): Moments {
  return {
    announcedFrom: readMoment(`${argument}.announcedFrom`, announcedFrom),
    activeFrom: readMoment(`${argument}.activeFrom`, activeFrom),
    emergencyAt: emergencyAt === undefined ? undefined : readMoment(`${argument}.emergencyAt`, emergencyAt),
  };
}

/** Checks that a key signs now, and that each key that signs now or later has a signer. */
export function requireUsable(keys: readonly PlannedKey<ScheduledEntry>[], time: number): void {
  requireActive(keys, time);
  for (const key of keys) requireSigner(key, time);
}

/** Checks that a key signs now. */
export function requireActive(keys: readonly PlannedKey<ScheduledEntry>[], time: number): void {
  const [first] = keys;
  if (first === undefined) throw new ConfigurationError("entries", "expected at least one entry");
  if (!keys.some((key) => phaseAt(key, time) === "active")) {
    const legal = toDateTime(first.activeFrom);
    throw new ConfigurationError(
      "entries",
      `expected an entry that is active now; the first becomes active at ${legal}`,
    );
  }
}

/** Checks that a key that signs now or later has a signer. */
export function requireSigner({ argument, key, retiringFrom }: PlannedKey<ScheduledEntry>, time: number): void {
  if (key.signer !== undefined || retiringFrom <= time) return;
  throw new ConfigurationError(argument, "expected a signer: the entry signs now or will sign later");
}

/** Rounded to whole milliseconds, the resolution of a Date. */
function hoursToMs(name: string, value: unknown, fallback: number, min: number, max: number): number {
  return Math.round(readNumber(name, value === undefined ? fallback : value, min, max) * HOUR_MS);
}
