import { ConfigurationError } from "../errors.ts";

export interface RotationWindowOptions {
  /** The start: a Date, or an RFC 3339 date and time with `Z` or an offset, so that every replica reads the same moment. */
  readonly startedAt: Date | string;
  /** Length in hours, above 0 and up to 8784 (a year). Default 24. */
  readonly hours?: number | undefined;
  /** The clock, in milliseconds since 1970. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
}

const HOUR_MS = 3_600_000;
const MAX_HOURS = 8784;

/**
 * A predicate for `jwksRotationActive`: true from `startedAt` until `hours` later, the end excluded. It depends on the
 * clock alone, so replicas need to share nothing.
 *
 * @throws ConfigurationError for a start that is no moment, or hours outside of the bounds.
 * @example
 * ```ts
 * import { rotationWindow } from "@signpost/core";
 *
 * const jwksRotationActive = rotationWindow({ startedAt: "2026-03-01T08:00:00Z" });
 * ```
 */
export function rotationWindow(options: RotationWindowOptions): () => boolean {
  const { hours = 24, now = Date.now } = options;
  const start = readMoment(options.startedAt);
  if (typeof hours !== "number" || !(hours > 0 && hours <= MAX_HOURS)) {
    throw new ConfigurationError("hours", `expected a number above 0 and up to ${MAX_HOURS}`);
  }
  if (typeof now !== "function") throw new ConfigurationError("now", "expected a function that returns milliseconds");
  const end = start + hours * HOUR_MS;
  return () => {
    const time = now();
    return time >= start && time < end;
  };
}

// Without an offset, `Date` takes the machine's own zone, which may differ from replica to replica.
const DATE_TIME = /^(\d{4}-\d{2}-\d{2})[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$/;

function readMoment(value: Date | string): number {
  const moment = value instanceof Date ? value.getTime() : readDateTime(value);
  if (Number.isNaN(moment)) {
    throw new ConfigurationError(
      "startedAt",
      "expected a Date, or a date and time with zone like 2026-03-01T08:00:00Z",
    );
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
