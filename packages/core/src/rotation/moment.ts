import { ConfigurationError } from "../errors.ts";

// Without an offset, `Date` takes the machine's own zone, which may differ from replica to replica.
const DATE_TIME = /^(\d{4}-\d{2}-\d{2})[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$/;

/**
 * Milliseconds since 1970 of a Date, or of an RFC 3339 date and time with `Z` or an offset.
 *
 * @throws ConfigurationError for anything else.
 */
export function readMoment(argument: string, value: unknown): number {
  const moment = value instanceof Date ? value.getTime() : readDateTime(value);
  if (Number.isNaN(moment)) {
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
