/** When new versions of a key are announced and become active. */
export interface VersionDelays {
  /** From the creation of a version to its announcement. In this time every replica must have seen it. */
  readonly pickUpMinutes: number;
  /** From the announcement of a version to its first signature. */
  readonly announceHours: number;
}

/** The dates of a version, as in an entry of a schedule. */
export interface VersionDates {
  /** From when on the version is published. */
  readonly announcedFrom: Date;
  /** From when on the version signs. */
  readonly activeFrom: Date;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** The default of `clockSkewSeconds` of a schedule, which must lie between an announcement and its activation too. */
const SKEW_MS = 60_000;

/**
 * The dates of a version, from the time when the backend created it. All replicas read the same time, so they compute the
 * same schedule. The first version has no earlier one that could sign before it, so it is active at once.
 *
 * @example
 * ```ts
 * import { versionDates } from "@signpost/core/adapter";
 *
 * const dates = versionDates(new Date("2026-03-01T08:00:00Z"), false, { pickUpMinutes: 15, announceHours: 4 });
 * ```
 */
export function versionDates(
  createdAt: Date,
  isFirst: boolean,
  { pickUpMinutes, announceHours }: VersionDelays,
): VersionDates {
  if (isFirst) return { announcedFrom: createdAt, activeFrom: createdAt };
  const announced = createdAt.getTime() + Math.ceil(pickUpMinutes * MINUTE_MS);
  return {
    announcedFrom: new Date(announced),
    activeFrom: new Date(announced + Math.ceil(announceHours * HOUR_MS) + SKEW_MS),
  };
}
