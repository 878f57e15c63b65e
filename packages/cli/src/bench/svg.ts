import { rowsOf } from "./buckets.ts";
import type { Level } from "./measure.ts";
import { PERCENTILES, type Report } from "./report.ts";
import type { Tally } from "./tally.ts";
import { figures, time, whole } from "./units.ts";

/** In units of the picture, which are CSS pixels on a phone. */
const WIDTH = 360;
const LINE = 16;
const LABEL = 80;
const COUNT = 46;

/** By it, a picture of this command is known. */
export const SVG_MARK = "<!-- written by signpost bench -->";

/** A picture of all levels, which needs nothing else: colors for light and dark pages, no scripts, no fonts from elsewhere. */
export function benchSvg({ uri, names, levels }: Report): string {
  const parts: string[] = [];
  let y = 0;
  const line = (words: string, style = "ink"): void => {
    y += LINE;
    parts.push(text(10, y, words, style));
  };
  y = 6;
  for (const words of wrapped(uri, 38)) line(words, "ink strong");
  if (names.length > 1) {
    y += LINE;
    parts.push(...names.flatMap((name, side) => legend(10 + side * 120, y, name, side)));
  }
  for (const level of levels) {
    y += 10;
    line(`${level.concurrency} at once`, "ink strong");
    for (const [side, tally] of level.tallies.entries()) line(summaryOf(tally), side === 0 ? "first" : "second");
    const drawn = histogram(level, y + 8);
    parts.push(...drawn.parts);
    y = drawn.bottom;
  }
  const height = y + 12;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">`,
    SVG_MARK,
    `<title>${escaped(titleOf(uri, levels))}</title>`,
    `<style>${STYLE}</style>`,
    `<rect width="${WIDTH}" height="${height}" class="paper"/>`,
    ...parts,
    "</svg>",
    "",
  ].join("\n");
}

const COLORS = {
  light: { paper: "#ffffff", ink: "#1f2328", soft: "#59636e", first: "#0550ae", second: "#953800" },
  dark: { paper: "#0d1117", ink: "#f0f6fc", soft: "#9198a1", first: "#79c0ff", second: "#ffa657" },
} as const;

const rules = (colors: Readonly<Record<string, string>>): string =>
  Object.entries(colors)
    .map(([name, color]) => `.${name}{fill:${color}}`)
    .join("");

const STYLE = [
  "text{font:12px system-ui,'Segoe UI',Roboto,sans-serif;font-variant-numeric:tabular-nums}",
  ".strong{font-weight:600}",
  rules(COLORS.light),
  `@media (prefers-color-scheme:dark){${rules(COLORS.dark)}}`,
].join("");

function histogram({ tallies }: Level, top: number): { readonly parts: readonly string[]; readonly bottom: number } {
  const rows = rowsOf(tallies);
  if (rows === undefined) return { parts: [], bottom: top };
  const { starts, isLastOpen, counts } = rows;
  // The counts of two sides have no place.
  const isSingle = counts.length === 1;
  const room = WIDTH - LABEL - 10 - (isSingle ? COUNT : 0);
  const bar = isSingle ? 12 : 7;
  const step = counts.length * bar + 5;
  const parts = starts.flatMap((start, row) => {
    const y = top + row * step;
    const isOpen = isLastOpen && row === starts.length - 1;
    const bars = counts.flatMap((side, index) => {
      const count = side[row] ?? 0;
      if (count === 0) return [];
      const width = Math.max(1, (count / Math.max(...side)) * room);
      return [rect(LABEL, y + index * bar, width, bar - 1, index === 0 ? "first" : "second")];
    });
    const [ours = 0] = counts.map((side) => side[row] ?? 0);
    const middle = y + (counts.length * bar) / 2 + 4;
    return [
      text(LABEL - 6, middle, `${isOpen ? "≥ " : ""}${time(start)}`, "soft", "end"),
      ...bars,
      text(WIDTH - 10, middle, isSingle && ours > 0 ? whole(ours) : "", "soft", "end"),
    ];
  });
  return { parts, bottom: top + starts.length * step };
}

function summaryOf(tally: Tally): string {
  const [p50, , p99] = PERCENTILES.map(([, percent]) => tally.percentile(percent));
  const times = [["p50", p50] as const, ["p99", p99] as const, ["max", tally.max] as const].flatMap(([name, ms]) =>
    ms === null || ms === undefined ? [] : [`${name} ${time(ms)}`],
  );
  const failed = tally.failures === 0 ? [] : [`${whole(tally.failures)} failed`];
  return [...times, `${figures(tally.perSecond)}/s`, ...failed].join("  ·  ");
}

function legend(x: number, y: number, name: string, side: number): readonly string[] {
  return [rect(x, y - 9, 10, 10, side === 0 ? "first" : "second"), text(x + 15, y, name, "ink")];
}

/** Screen readers read it instead of the picture. */
function titleOf(uri: string, levels: readonly Level[]): string {
  const words = levels.map(({ concurrency, tallies: [ours] }) => {
    const median = ours?.percentile(50);
    return `${concurrency} at once: ${median === null || median === undefined ? "no signature" : `half within ${time(median)}`}`;
  });
  return `How long signatures take with ${uri}. ${words.join(", ")}`;
}

function wrapped(words: string, length: number): readonly string[] {
  return words.match(new RegExp(`.{1,${length}}`, "gu")) ?? [];
}

function text(x: number, y: number, words: string, style: string, anchor = "start"): string {
  return words === ""
    ? ""
    : `<text x="${x}" y="${y}" text-anchor="${anchor}" class="${style}">${escaped(words)}</text>`;
}

function rect(x: number, y: number, width: number, height: number, style: string): string {
  return `<rect x="${x}" y="${y}" width="${width.toFixed(1)}" height="${height}" class="${style}"/>`;
}

function escaped(words: string): string {
  // XML has no control characters, not even escaped, and not these two.
  return words
    .replaceAll(/[\p{Cc}\uFFFE\uFFFF]/gu, "\uFFFD")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
}
