// What all plots have in common: their size, colors for light and dark mode, and a title inside the picture.
import * as Plot from "@observablehq/plot";
import { JSDOM } from "jsdom";

/** A plot for the page. */
export interface PagePlot {
  /** For its file: `bench-NAME.svg`, or `faults-NAME.svg`. */
  readonly name: string;
  /** What it answers. */
  readonly question: string;
  readonly svg: string;
}

export * as Plot from "@observablehq/plot";
export type Mark = Plot.Markish;

/** For text that a line passes behind. The library fills no text that has a stroke, unless it is told to. */
export const HALO = { fill: "currentColor", stroke: "var(--paper)", strokeWidth: 5 } as const;

/** A line above the plot. The first one is the title. */
export type TitleLine = string | { readonly text: string; readonly color: string };

/** Narrow, so that the text stays readable on a phone. */
const WIDTH = 480;
const LINE = 20;
const TITLE_CHARACTERS = 52;

const STYLE = `
  svg { --paper: #ffffff; --ink: #1f2328; --ours: #0b62c4; --peer: #6e7781; color: var(--ink); background: var(--paper); font-family: system-ui, sans-serif; font-size: 14px; }
  @media (prefers-color-scheme: dark) { svg { --paper: #0d1117; --ink: #e6edf3; --ours: #58a6ff; --peer: #9aa4af; } }
`;

/** Draws a plot with its title as one SVG. */
export function drawPlot(title: readonly TitleLine[], options: Plot.PlotOptions): string {
  const { document } = new JSDOM().window;
  const lines = title.flatMap((line, index) => (typeof line === "string" ? wrapped(line, index === 0) : [line]));
  const top = lines.length * LINE + 16;
  const height = (options.height ?? 0) + top;
  const svg = Plot.plot({
    ...options,
    // The document of jsdom does for the library what a browser's would.
    document: document as never,
    width: WIDTH,
    height,
    marginTop: top + 24,
    marginBottom: 30,
    style: { fontSize: "14px", background: "var(--paper)" },
  });
  const body = svg.outerHTML.replace(/<svg [^>]*>\s*(?:<style>[\s\S]*?<\/style>)?/, "");
  const words = lines.map(
    ({ text, color, bold }: Line, index) =>
      `<text x="10" y="${(index + 1) * LINE}" fill="${color ?? "currentColor"}"${bold === true ? ' font-weight="600"' : ""}>${escaped(text)}</text>`,
  );
  const label = escaped(lines.map(({ text }) => text).join(" "));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" fill="currentColor" role="img" aria-label="${label}"><style>${STYLE}</style>${words.join("")}${body}\n`;
}

interface Line {
  readonly text: string;
  readonly color?: string;
  readonly bold?: boolean;
}

function wrapped(text: string, bold: boolean): Line[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last === undefined || last.length + word.length >= TITLE_CHARACTERS) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines.map((line) => ({ text: line, bold }));
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
