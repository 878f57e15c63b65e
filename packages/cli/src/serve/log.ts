import { printable } from "../terminal/printable.ts";
import type { Output } from "../terminal/output.ts";

export type Level = "info" | "warn" | "error";

/** What else a program that reads the log may want to know. */
export type Details = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** The log of a server: one line for each event. */
export type Log = (level: Level, event: string, message: string, details?: Details) => void;

const COLORS = { info: "cyan", warn: "yellow", error: "red" } as const;

/** Writes lines for people, or lines of JSON. Text in them cannot control a terminal or look like another line. */
export function createLog({ line, colors }: Output, json: boolean): Log {
  return (level, event, message, details = {}) => {
    const time = new Date().toISOString();
    if (json) return line(printable(JSON.stringify({ time, level, event, message, ...details })));
    // Whatever collects the log of a server adds the date.
    const clock = `${time.slice(11, 19)}Z`;
    const hint = details["hint"] === undefined ? "" : ` (${details["hint"]})`;
    line(`${colors.dim(clock)} ${colors[COLORS[level]](level.padEnd(5))} ${printable(message + hint)}`);
  };
}
