import type { Level } from "../terminal/levels.ts";

/** What a check found. */
export interface Finding {
  readonly check: Check;
  readonly level: Level;
  readonly text: string;
  /** What to do about it. */
  readonly todo?: string;
}

export type Check =
  | "open"
  | "probe"
  | "published"
  | "certificates"
  | "latency"
  | "clock"
  | "permissions"
  | "key"
  | "token"
  | "rotation";

/** Everything that was found out about a key. */
export interface KeyReport {
  /** The name of the key for people. */
  readonly name: string;
  /** Its canonical URI, once it was opened. */
  readonly uri: string | undefined;
  readonly findings: readonly Finding[];
  /** True: the key could not be examined, because its backend did not answer. */
  readonly away: boolean;
}

export function ok(check: Check, text: string): Finding {
  return { check, level: "ok", text };
}

export function note(check: Check, text: string): Finding {
  return { check, level: "note", text };
}

export function warning(check: Check, text: string, todo: string): Finding {
  return { check, level: "warning", text, todo };
}

export function problem(check: Check, text: string, todo: string): Finding {
  return { check, level: "problem", text, todo };
}
