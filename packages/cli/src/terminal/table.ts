import { stripVTControlCharacters } from "node:util";
import Table from "cli-table3";
import type { Output } from "./output.ts";

const NO_LINES = {
  top: "",
  "top-mid": "",
  "top-left": "",
  "top-right": "",
  bottom: "",
  "bottom-mid": "",
  "bottom-left": "",
  "bottom-right": "",
  left: "",
  "left-mid": "",
  mid: "",
  "mid-mid": "",
  right: "",
  "right-mid": "",
  middle: "  ",
};

/**
 * Rows of cells in aligned columns, without lines. Cells may be colored. The last column wraps at the width of the terminal.
 * A cell with text from outside must be `printable`.
 */
export function tableText(rows: readonly (readonly string[])[], output: Pick<Output, "width" | "colors">): string {
  const widths = columnWidths(rows, output.width);
  const lastWidth = widths.at(-1) ?? output.width;
  const table = new Table({
    chars: NO_LINES,
    style: { "padding-left": 0, "padding-right": 0, head: [], border: [] },
    wordWrap: true,
    colWidths: widths,
  });
  for (const row of rows.flatMap(inLines)) {
    table.push([...row.slice(0, -1), ...row.slice(-1).map((cell) => breakLongWords(cell, lastWidth))]);
  }
  return table
    .toString()
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n");
}

/** A row for each line of the last cell: the table takes time by the square of what is in a cell. */
function inLines(row: readonly string[]): readonly (readonly string[])[] {
  const before = row.slice(0, -1);
  const [first = "", ...others] = (row.at(-1) ?? "").split("\n");
  return [[...before, first], ...others.map((line) => [...before.map(() => ""), line])];
}

/** Two characters between columns. Below this width a column is no longer readable, so a line grows instead. */
const GAP = 2;
const MIN_LAST_COLUMN = 24;

function columnWidths(rows: readonly (readonly string[])[], width: number): (number | null)[] {
  const columns = Math.max(...rows.map((row) => row.length), 0);
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => textWidth(row[column] ?? ""))),
  );
  const last = widths.pop();
  if (last === undefined) return [];
  const before = widths.reduce((sum, each) => sum + each + GAP, 0);
  return [...widths.map(() => null), Math.min(last, Math.max(width - before, MIN_LAST_COLUMN))];
}

/** What colors text. It has no width. */
const COLOR = /(\p{Cc}\[[\d;]*m)/u;

/** The table cuts a word off that is longer than the column. So such a word continues on the next line. */
function breakLongWords(cell: string, width: number): string {
  const long = new RegExp(`\\S{${width}}(?=\\S)`, "gu");
  const parts = cell.split(COLOR);
  return parts.map((part, index) => (index % 2 === 1 ? part : part.replace(long, "$&\n"))).join("");
}

function textWidth(text: string): number {
  return stripVTControlCharacters(text).length;
}
