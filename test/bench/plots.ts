// Plots of reports as SVG: medians with their 95 % intervals, or how close both sides came to a limit.
import type { PairingResult } from "./measure.ts";
import { type BenchReport, figure, percent } from "./report.ts";

const WIDTH = 900;
const LABELS = 430;
const RIGHT = 40;
const TOP = 44;
const ROW = 22;
const PLOT = WIDTH - LABELS - RIGHT;
const OURS = "#1b6ac9";
const PEER = "#a0a8b4";
const TARGET = "#c93c1b";

/** One plot for each kind of row in the report. */
export function plotsOf(report: BenchReport): { readonly name: string; readonly svg: string }[] {
  const limited = report.results.filter(({ ofIdeal }) => ofIdeal !== undefined);
  const added = report.results.filter(({ target, ofIdeal }) => target.addedMs !== undefined && ofIdeal === undefined);
  const ratios = report.results.filter((result) => !limited.includes(result) && !added.includes(result));
  return [
    { name: `${report.name}-limit`, rows: limited, draw: limitPlot },
    { name: `${report.name}-added`, rows: added, draw: addedPlot },
    { name: `${report.name}-ratio`, rows: ratios, draw: ratioPlot },
  ]
    .filter(({ rows }) => rows.length > 0)
    .map(({ name, rows, draw }) => ({ name, svg: draw(rows) }));
}

function limitPlot(rows: readonly PairingResult[]): string {
  const x = (part: number): number => LABELS + Math.min(part, 1) * PLOT;
  const bars = rows.map(({ name, ofIdeal = { ours: 0, peer: 0 } }, index) => {
    const y = TOP + index * ROW;
    return [
      label(name, y),
      rect(LABELS, y + 2, x(ofIdeal.ours) - LABELS, 8, OURS),
      rect(LABELS, y + 11, x(ofIdeal.peer) - LABELS, 6, PEER),
      text(x(ofIdeal.ours) - 4, y + 10, percent(ofIdeal.ours), "end", "#ffffff", 9),
    ].join("");
  });
  return svg("Part of the limit: ours (blue), peer (grey)", rows.length, [
    ...ticks([0, 0.25, 0.5, 0.75, 1], x, percent),
    ...bars,
  ]);
}

function addedPlot(rows: readonly PairingResult[]): string {
  const bounds = rows.flatMap(({ addedMs, target }) => [addedMs.low, addedMs.high, target.addedMs ?? 0, 0]);
  const [low, high] = [Math.min(...bounds), Math.max(...bounds)];
  const x = (value: number): number => LABELS + ((value - low) / (high - low)) * PLOT;
  const values = [low, 0, high].filter((value, index, all) => all.indexOf(value) === index);
  return svg("Milliseconds that ours adds: median and 95 % interval, target in red", rows.length, [
    ...ticks(values, x, figure),
    ...rows.map((row, index) => interval(row.name, index, row.addedMs, row.target.addedMs, x)),
  ]);
}

/** On a logarithmic axis, because half as long and twice as long are equally far from 1. */
function ratioPlot(rows: readonly PairingResult[]): string {
  const bounds = rows.flatMap(({ ratio }) => [ratio.low, ratio.high, 0.5, 2]);
  const [low, high] = [Math.log(Math.min(...bounds)), Math.log(Math.max(...bounds))];
  const x = (value: number): number => LABELS + ((Math.log(value) - low) / (high - low)) * PLOT;
  return svg("Time of ours as a multiple of the peer's: median and 95 % interval, target in red", rows.length, [
    ...ticks([Math.exp(low), 1, Math.exp(high)], x, figure),
    ...rows.map((row, index) => interval(row.name, index, row.ratio, row.target.ratio, x)),
  ]);
}

function interval(
  name: string,
  index: number,
  { value, low, high }: PairingResult["ratio"],
  target: number | undefined,
  x: (value: number) => number,
): string {
  const y = TOP + index * ROW;
  const middle = y + ROW / 2 - 2;
  return [
    label(name, y),
    line(x(low), middle, x(high), middle, OURS, 2),
    `<circle cx="${px(x(value))}" cy="${px(middle)}" r="4" fill="${OURS}"/>`,
    target === undefined ? "" : line(x(target), middle - 7, x(target), middle + 7, TARGET, 2),
  ].join("");
}

function ticks(values: readonly number[], x: (value: number) => number, words: (value: number) => string): string[] {
  return values.map(
    (value) =>
      text(x(value), TOP - 6, words(value), "middle", "#444444", 10) +
      line(x(value), TOP - 2, x(value), 10_000, "#dddddd", 1),
  );
}

function svg(title: string, rows: number, parts: readonly string[]): string {
  const height = TOP + rows * ROW + 10;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif">`,
    `<title>${escaped(title)}</title>`,
    rect(0, 0, WIDTH, height, "#ffffff"),
    text(10, 18, title, "start", "#111111", 13),
    ...parts,
    "</svg>",
    "",
  ].join("\n");
}

function label(name: string, y: number): string {
  return text(LABELS - 10, y + ROW / 2 + 2, name, "end", "#111111", 11);
}

function text(x: number, y: number, content: string, anchor: string, fill: string, size: number): string {
  return `<text x="${px(x)}" y="${px(y)}" text-anchor="${anchor}" fill="${fill}" font-size="${size}">${escaped(content)}</text>`;
}

function rect(x: number, y: number, width: number, height: number, fill: string): string {
  return `<rect x="${px(x)}" y="${px(y)}" width="${px(width)}" height="${px(height)}" fill="${fill}"/>`;
}

function line(x1: number, y1: number, x2: number, y2: number, stroke: string, width: number): string {
  return `<line x1="${px(x1)}" y1="${px(y1)}" x2="${px(x2)}" y2="${px(y2)}" stroke="${stroke}" stroke-width="${width}"/>`;
}

function px(value: number): string {
  return value.toFixed(1);
}

function escaped(content: string): string {
  return content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
