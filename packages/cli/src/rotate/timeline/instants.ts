import { duration } from "../../terminal/duration.ts";

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
  if (seconds === 0) return "now";
  return seconds > 0 ? `in ${duration(seconds)}` : `${duration(-seconds)} ago`;
}
