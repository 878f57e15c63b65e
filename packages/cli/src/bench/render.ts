import type { Output } from "../terminal/output.ts";
import { printable } from "../terminal/printable.ts";
import { rowsOf, type Rows } from "./buckets.ts";
import type { Level } from "./measure.ts";
import { compare, PERCENTILES, type Report } from "./report.ts";
import type { Tally } from "./tally.ts";
import { figures, time, whole } from "./units.ts";

/** Prints a table of all levels, and a histogram of each. No line is longer than 80 characters, apart from the URI. */
export function printReport({ uri, names, levels, wasStopped }: Report, output: Output): void {
  const { colors } = output;
  output.line(colors.bold(printable(uri)));
  output.line();
  for (const line of tableLines(names, levels)) output.line(line);
  for (const level of levels) {
    const rows = rowsOf(level.tallies);
    if (rows === undefined) continue;
    output.line();
    const counts = level.tallies.map((tally, side) => `${names[side]} ${whole(tally.signatures)}`);
    output.line(colors.bold(`${level.concurrency} at once: ${counts.join(", ")}`));
    for (const line of histogramLines(rows)) output.line(line);
  }
  const troubles = levels.flatMap((level) => troubleLines(level, names));
  if (troubles.length > 0) output.line();
  for (const line of troubles) output.line(`${colors.red("✗")} ${line}`);
  if (wasStopped) {
    output.line();
    output.line(`${colors.yellow("!")} Stopped: this is what was measured until then`);
  }
}

const COLUMN = 9;

function tableLines(names: readonly string[], levels: readonly Level[]): readonly string[] {
  const width = Math.max(...names.map((name) => name.length), "added".length);
  const line = (level: string, side: string, cells: readonly string[]): string =>
    `${level.padStart(7)}  ${side.padEnd(width)}${cells.map((cell) => ` ${cell.padStart(COLUMN - 1)}`).join("")}`;
  const head = line("at once", "", [...PERCENTILES.map(([name]) => name), "max", "per s"]);
  const rows = levels.flatMap(({ concurrency, tallies }) => [
    ...tallies.map((tally, side) => line(side === 0 ? String(concurrency) : "", names[side] ?? "", cellsOf(tally))),
    ...comparisonRows(tallies).map(([name, cells]) => line("", name, cells)),
  ]);
  return [head, ...rows].map((row) => row.trimEnd());
}

function cellsOf(tally: Tally): readonly string[] {
  const times = [...PERCENTILES.map(([, percent]) => tally.percentile(percent)), tally.max];
  return [...times.map((ms) => (ms === null ? "–" : time(ms))), figures(tally.perSecond)];
}

function comparisonRows(tallies: readonly Tally[]): readonly (readonly [string, readonly string[]])[] {
  const comparison = compare(tallies);
  if (comparison === undefined) return [];
  const { addedMs, ratio, perSecondRatio } = comparison;
  const each = (values: Comparison, show: (value: number) => string): readonly string[] =>
    PERCENTILES.map(([name]) => values[name] ?? null).map((value) => (value === null ? "–" : show(value)));
  const times = (value: number): string => `×${figures(value)}`;
  return [
    ["added", each(addedMs, (ms) => (ms < 0 ? time(ms) : `+${time(ms)}`))],
    ["ratio", [...each(ratio, times), "", perSecondRatio === null ? "–" : times(perSecondRatio)]],
  ];
}

type Comparison = Readonly<Record<string, number | null>>;

/** What is left of 80 characters for the bars of all sides. */
const BARS = 64;
const COUNT = 8;

function histogramLines({ starts, isLastOpen, counts }: Rows): readonly string[] {
  const room = Math.floor(BARS / counts.length) - COUNT;
  return starts.map((start, row) => {
    const label = `${isLastOpen && row === starts.length - 1 ? "≥ " : ""}${time(start)}`.padStart(11);
    const bars = counts.map((side) => {
      const count = side[row] ?? 0;
      const shown = count === 0 ? "" : whole(count);
      return `${bar(count / Math.max(...side, 1), room).padEnd(room)} ${shown.padStart(COUNT - 2)}`;
    });
    return `${label}  ${bars.join(" ")}`.trimEnd();
  });
}

const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** Something for each call, however small its share. */
function bar(share: number, room: number): string {
  if (share === 0) return "";
  const eighths = Math.max(1, Math.round(share * room * 8));
  return "█".repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? "");
}

function troubleLines({ concurrency, tallies, gaveUp }: Level, names: readonly string[]): readonly string[] {
  const lines = tallies.flatMap(({ failures, errors, repeats }, side) => {
    const codes = Object.entries(errors).map(([code, count]) => `${printable(code)} ${whole(count)}`);
    const name = `${concurrency} at once, ${names[side]}`;
    return [
      ...(failures === 0 ? [] : [`${name}: ${whole(failures)} failed: ${codes.join(", ")}`]),
      ...(repeats === 0 ? [] : [`${name}: ${whole(repeats)} calls were repeated`]),
    ];
  });
  return gaveUp ? [...lines, `${concurrency} at once: given up, because nothing but failures came`] : lines;
}
