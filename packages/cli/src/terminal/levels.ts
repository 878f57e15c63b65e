import type { Colors } from "./colors.ts";

/** `ok`: checked, and as it should be. `note`: good to know. `warning` and `problem` need a person. */
export type Level = "ok" | "note" | "warning" | "problem";

/** The mark in front of what was found. */
export const MARKS: Readonly<Record<Level, (colors: Colors) => string>> = {
  ok: ({ green }) => green("✓"),
  note: ({ cyan }) => cyan("i"),
  warning: ({ yellow }) => yellow("!"),
  problem: ({ red }) => red("✗"),
};
