/** When new versions are announced and become active. */
export interface VersionDates {
  readonly pickUpMinutes: number;
  readonly announceHours: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** The default of `clockSkewSeconds` of a schedule, which must lie between an announcement and its activation too. */
const SKEW_MS = 60_000;

/**
 * The dates of a version, from the time when the server made it. All replicas read the same time. The first version has no
 * earlier one that could sign before it.
 */
export function datesOf(
  creationTime: Date,
  isFirst: boolean,
  { pickUpMinutes, announceHours }: VersionDates,
): { readonly announcedFrom: Date; readonly activeFrom: Date } {
  if (isFirst) return { announcedFrom: creationTime, activeFrom: creationTime };
  const announced = creationTime.getTime() + Math.ceil(pickUpMinutes * MINUTE_MS);
  return {
    announcedFrom: new Date(announced),
    activeFrom: new Date(announced + Math.ceil(announceHours * HOUR_MS) + SKEW_MS),
  };
}
