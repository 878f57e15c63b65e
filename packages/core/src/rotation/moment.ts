import { ConfigurationError } from "../errors.ts";
import { given } from "../given.ts";

// Without an offset, `Date` would use the machine's time zone, which may differ between replicas.
const DATE_TIME = /^(\d{4}-\d{2}-\d{2})[Tt](?:[01]\d|2[0-3]):\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$/;
// The range of RFC 3339. Within it, every sum of a time and a duration fits in a Date.
const YEAR_0 = Date.parse("0000-01-01T00:00:00Z");
const YEAR_10000 = Date.parse("+010000-01-01T00:00:00Z");

/**
 * Milliseconds since 1970 of a Date, or of an RFC 3339 date and time with `Z` or an offset, in the years 0 to 9999.
 *
 * @throws ConfigurationError for anything else.
 * @example
 * ```ts
 * import { readMoment } from "@signpost/core/adapter";
 *
 * const time = readMoment("activeFrom", "2026-03-01T08:00:00Z");
 * ```
 */
export function readMoment(argument: string, value: unknown): number {
  const moment = value instanceof Date ? value.getTime() : readDateTime(value);
  if (!(moment >= YEAR_0 && moment < YEAR_10000)) {
    const got = value instanceof Date ? describeDate(value) : given(value);
    throw new ConfigurationError(
      argument,
      `expected a Date, or a date, time and zone like 2026-03-01T08:00:00Z, in the years 0 to 9999, got ${got}`,
    );
  }
  return moment;
}

function describeDate(date: Date): string {
  return Number.isNaN(date.getTime()) ? "an invalid Date" : `the Date ${date.toISOString()}`;
}

/** Milliseconds since 1970, or NaN. */
function readDateTime(value: unknown): number {
  const [text, day] = typeof value === "string" ? (DATE_TIME.exec(value) ?? []) : [];
  if (text === undefined || day === undefined) return Number.NaN;
  // `Date` turns February 30 into a day of March. A day that exists stays the same.
  const midnight = new Date(`${day}T00:00:00Z`);
  const exists = !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day);
  return exists ? Date.parse(text.toUpperCase()) : Number.NaN;
}
