/** `mistake`: the program of the OP refuses the file. `warning`: relying parties may notice. `note`: good to know. */
export type Level = "mistake" | "warning" | "note";

/** What is wrong, or may be. */
export interface Finding {
  readonly level: Level;
  /** What was checked, for programs. */
  readonly rule: Rule;
  /** Where it is in the file, as a JSON path. */
  readonly path: string;
  readonly text: string;
  /** What to do about it. */
  readonly todo?: string | undefined;
}

export type Rule =
  | "valid"
  | "announced-late"
  | "certificate"
  | "emergency-ahead"
  | "gap"
  | "next-key"
  | "removed"
  | "signer-changed"
  | "withdrawn-early";
