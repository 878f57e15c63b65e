/** How much an event matters. */
export type Level = "info" | "warn" | "error";

/** What else a program that reads the log may want to know. Never claims, tokens or secrets. */
export type Details = Readonly<Record<string, string | number | undefined>>;

/** One line of JSON for each event. */
export type Log = (level: Level, event: string, message: string, details?: Details) => void;

export function createLog(write: (line: string) => void): Log {
  return (level, event, message, details = {}) =>
    write(JSON.stringify({ time: new Date().toISOString(), level, event, message, ...details }));
}
