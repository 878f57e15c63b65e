import { readMoment } from "@signpost/core/adapter";
import { CliError } from "../../program/cli-error.ts";
import { EXIT } from "../../program/exit-codes.ts";
import { duration } from "../../terminal/duration.ts";

/** The time of an option, if it is given: milliseconds since 1970. */
export function instantOf(flag: string, text: string | undefined): number | undefined {
  try {
    return text === undefined ? undefined : readMoment(flag, text);
  } catch (cause) {
    const expected = "expected a date, time and zone, such as 2026-07-01T08:00:00Z";
    throw new CliError(EXIT.usage, "flags", `${flag}: ${expected}`, { cause });
  }
}

/** A time as the file has it: RFC 3339 in UTC. */
export function instantText(time: number): string {
  return new Date(time).toISOString().replace(".000Z", "Z");
}

/** The same. Null for a time that never comes. */
export function instantOrNull(time: number): string | null {
  return Number.isFinite(time) ? instantText(time) : null;
}

/** How far away a time is: `in 5 h`, `2 d ago`. */
export function distance(time: number, from: number): string {
  const seconds = Math.round((time - from) / 1000);
  if (seconds > 0) return `in ${duration(seconds)}`;
  return seconds < 0 ? `${duration(-seconds)} ago` : "now";
}
