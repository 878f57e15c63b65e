import { ConfigurationError } from "../errors.ts";

// Without an offset, `Date` takes the machine's own zone, which may differ from replica to replica.
const DATE_TIME = /^(\d{4}-\d{2}-\d{2})[Tt](?:[01]\d|2[0-3]):\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$/;
// What RFC 3339 can write down. A sum of moments and lengths then always fits into a Date.
const YEAR_0 = Date.parse("0000-01-01T00:00:00Z");
const YEAR_10000 = Date.parse("+010000-01-01T00:00:00Z");

/**
 * Milliseconds since 1970 of a Date, or of an RFC 3339 date and time with `Z` or an offset, in the years 0 to 9999.
 *
 * @throws ConfigurationError for anything else.
 */
export function readMoment(argument: string, value: unknown): number {
  const moment = value instanceof Date ? value.getTime() : readDateTime(value);
  if (!(moment >= YEAR_0 && moment < YEAR_10000)) {
    throw new ConfigurationError(argument, "expected a Date, or a date and time with zone like 2026-03-01T08:00:00Z");
  }
  return moment;
}

/** Milliseconds since 1970, or NaN. */
function readDateTime(value: unknown): number {
  const [text, day] = typeof value === "string" ? (DATE_TIME.exec(value) ?? []) : [];
  if (text === undefined || day === undefined) return Number.NaN;
  // `Date` carries 30 February over into March: a day that exists comes back as it went in.
  const midnight = new Date(`${day}T00:00:00Z`);
  const exists = !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day);
  return exists ? Date.parse(text.toUpperCase()) : Number.NaN;
}
