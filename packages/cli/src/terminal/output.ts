import type { Colors } from "./colors.ts";
import { printableLines } from "./printable.ts";

/** Where a command writes its result. */
export interface Output {
  readonly colors: Colors;
  /** Characters in a line of the terminal. */
  readonly width: number;
  /** Whether a person reads it. */
  readonly isTerminal: boolean;
  /** Writes text as it is, without a line break. */
  write(text: string | Uint8Array): void;
  /** Writes a line. */
  line(text?: string): void;
  /** Writes a value as indented JSON. Characters that a terminal obeys are escaped, as JSON allows. */
  json(value: unknown): void;
}

export interface OutputSettings {
  readonly write: (text: string | Uint8Array) => void;
  readonly colors: Colors;
  readonly columns: number | undefined;
  readonly isTerminal: boolean;
}

/** Readable, and never wider than people follow a line. */
const MAX_WIDTH = 120;
const DEFAULT_WIDTH = 100;

export function createOutput({ write, colors, columns, isTerminal }: OutputSettings): Output {
  return {
    colors,
    width: Math.min(columns === undefined || columns === 0 ? DEFAULT_WIDTH : columns, MAX_WIDTH),
    isTerminal,
    write,
    line: (text = "") => write(`${text}\n`),
    json: (value) => write(`${printableLines(JSON.stringify(value, undefined, 2))}\n`),
  };
}
