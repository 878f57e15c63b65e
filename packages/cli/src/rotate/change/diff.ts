import { printable } from "../../terminal/printable.ts";
import { applyEdits, type Edit } from "./json-edit.ts";

/** A line of the file before the change (`-`), after it (`+`), or both. */
export interface DiffLine {
  readonly mark: " " | "-" | "+";
  readonly text: string;
}

/** Lines that changed, with some lines around them. */
export interface Hunk {
  /** Number of the first line, from 1. */
  readonly line: number;
  readonly lines: readonly DiffLine[];
}

/** Unchanged lines that are shown around a change. */
const CONTEXT = 2;

/** The lines that some edits change. */
export function diffOf(text: string, edits: readonly Edit[]): readonly Hunk[] {
  const all = text.split("\n");
  return groups(text, edits).map(({ first, last, edits: inside }) => {
    const from = Math.max(first - CONTEXT, 0);
    const start = all.slice(0, from).reduce((sum, line) => sum + line.length + 1, 0);
    const old = all.slice(from, last + 1 + CONTEXT);
    const moved = inside.map((edit) => ({ ...edit, offset: edit.offset - start }));
    const lines = compare(old, applyEdits(old.join("\n"), moved).split("\n"));
    const skipped = Math.max(lines.findIndex(({ mark }) => mark !== " ") - CONTEXT, 0);
    const end = lines.findLastIndex(({ mark }) => mark !== " ") + 1 + CONTEXT;
    return { line: from + skipped + 1, lines: lines.slice(skipped, end) };
  });
}

/** The way from some lines to others: what is the same at both ends stays. */
function compare(old: readonly string[], fresh: readonly string[]): readonly DiffLine[] {
  const most = Math.min(old.length, fresh.length);
  let head = 0;
  while (head < most && old[head] === fresh[head]) head += 1;
  let tail = 0;
  while (tail < most - head && old.at(-1 - tail) === fresh.at(-1 - tail)) tail += 1;
  const [before, after] = [old.slice(head, old.length - tail), fresh.slice(head, fresh.length - tail)];
  return [
    ...linesOf(old.slice(0, head), " "),
    ...(before.length * after.length > MOST_PAIRS
      ? [...linesOf(before, "-"), ...linesOf(after, "+")]
      : shortestWay(before, after)),
    ...linesOf(old.slice(old.length - tail), " "),
  ];
}

/** Comparing more pairs of lines than this takes too much time and memory. */
const MOST_PAIRS = 1_000_000;

function linesOf(texts: readonly string[], mark: DiffLine["mark"]): readonly DiffLine[] {
  return texts.map((text) => ({ mark, text }));
}

/** The shortest way from some lines to others, by their longest common subsequence. */
function shortestWay(old: readonly string[], fresh: readonly string[]): readonly DiffLine[] {
  const common = commonLengths(old, fresh);
  const lines: DiffLine[] = [];
  let [row, column] = [0, 0];
  while (row < old.length || column < fresh.length) {
    const [line, next] = [old[row], fresh[column]];
    if (line !== undefined && line === next) {
      lines.push({ mark: " ", text: line });
      row += 1;
      column += 1;
    } else if (line !== undefined && (common[row + 1]?.[column] ?? 0) >= (common[row]?.[column + 1] ?? 0)) {
      lines.push({ mark: "-", text: line });
      row += 1;
    } else {
      lines.push({ mark: "+", text: next ?? "" });
      column += 1;
    }
  }
  return lines;
}

/** How many lines are the same from each pair of places on. */
function commonLengths(old: readonly string[], fresh: readonly string[]): readonly (readonly number[])[] {
  const rows: number[][] = [Array.from({ length: fresh.length + 1 }, () => 0)];
  for (const line of old.toReversed()) {
    const [below = []] = rows;
    const row = Array.from({ length: fresh.length + 1 }, () => 0);
    for (let column = fresh.length - 1; column >= 0; column -= 1) {
      const isSame = fresh[column] === line;
      row[column] = isSame ? (below[column + 1] ?? 0) + 1 : Math.max(below[column] ?? 0, row[column + 1] ?? 0);
    }
    rows.unshift(row);
  }
  return rows;
}

interface Group {
  readonly first: number;
  readonly last: number;
  readonly edits: readonly Edit[];
}

/** Edits of lines that are next to each other, or would show the same lines around them. */
function groups(text: string, edits: readonly Edit[]): readonly Group[] {
  const lineAt = (offset: number): number => text.slice(0, offset).split("\n").length - 1;
  const found: Group[] = [];
  for (const edit of edits.toSorted((a, b) => a.offset - b.offset)) {
    const [first, last] = [lineAt(edit.offset), lineAt(edit.offset + edit.length)];
    const before = found.at(-1);
    if (before !== undefined && first <= before.last + 2 * CONTEXT) {
      found[found.length - 1] = {
        first: before.first,
        last: Math.max(before.last, last),
        edits: [...before.edits, edit],
      };
    } else found.push({ first, last, edits: [edit] });
  }
  return found;
}

/** What a diff needs of the colors. */
export type DiffColors = Readonly<Record<"dim" | "red" | "green", (text: string) => string>>;

/** For programs. */
export const NO_COLORS: DiffColors = { dim: (text) => text, red: (text) => text, green: (text) => text };

const COLORS: Readonly<Record<DiffLine["mark"], (colors: DiffColors) => (text: string) => string>> = {
  " ": ({ dim }) => dim,
  "-": ({ red }) => red,
  "+": ({ green }) => green,
};

/** A diff as people know it. */
export function diffText(name: string, hunks: readonly Hunk[], colors: DiffColors): readonly string[] {
  return hunks.flatMap(({ line, lines }) => [
    colors.dim(`@@ ${printable(name)} line ${line}`),
    ...lines.map(({ mark, text }) => COLORS[mark](colors)(`${mark}${printable(text.replace(/\r$/, ""))}`)),
  ]);
}
