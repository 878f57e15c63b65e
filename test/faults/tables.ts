import type { PagePlot } from "@signpost/test-pages/plot-frame";
import type { EpisodeResult } from "./campaign.ts";
import { ALL_KINDS, KINDS } from "./kinds.ts";
import { allFindings, type KeptResult } from "./report.ts";
import { BACKEND_NAMES, nameOf, ofKind, seconds } from "./words.ts";

// The tables of docs/reliability.md.

/** In the order of the tables. */
export function inOrder(results: readonly KeptResult[]): readonly KeptResult[] {
  const order = Object.keys(BACKEND_NAMES);
  return results.toSorted((a, b) => order.indexOf(a.backend) - order.indexOf(b.backend));
}

const row = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [row(head), row(head.map(() => "---")), ...rows.map(row)].join("\n");
}

const grouped = (count: number): string => count.toLocaleString("en-US");

/** Everything between the marks of the page. `plots` are those of the same results. */
export function resultsSection(results: readonly KeptResult[], plots: readonly PagePlot[]): string {
  return [
    backendsTable(results),
    ...plots.map(({ name, question }) => `## ${question}\n\n![${question}](img/faults-${name}.svg)`),
    "## By fault and backend",
    [
      "The share of the calls that failed while the fault was on, and the time from its end until eight calls at once were signed and",
      "the health was `ready`. An empty cell: this backend cannot have the fault, or the campaign cannot make it there.",
    ].join("\n"),
    faultsTable(results),
    "## What callers see",
    kindsTable(results),
    runsLine(results),
  ].join("\n\n");
}

/** A row for each backend. */
function backendsTable(results: readonly KeptResult[]): string {
  const head = [
    "backend",
    "tokens",
    "faults",
    "calls that failed",
    "findings",
    "slowest call",
    "slowest recovery",
    "heap growth",
  ];
  return table(
    head,
    results.map((result) => {
      const { backend, tokens, calls, episodes, slowestMs, heapGrowthBytes } = result;
      const slowest = slowestOf(episodes);
      return [
        nameOf(backend),
        grouped(tokens),
        String(episodes.length),
        grouped(calls - tokens),
        String(allFindings(result).length),
        seconds(slowestMs),
        slowest === undefined ? "none" : `${seconds(slowest.recoveryMs)} (${slowest.kind})`,
        `${(heapGrowthBytes / 2 ** 20).toFixed(1)} MiB`,
      ];
    }),
  );
}

function slowestOf(episodes: readonly EpisodeResult[]): EpisodeResult | undefined {
  return episodes.toSorted((a, b) => b.recoveryMs - a.recoveryMs)[0];
}

/** A row for each kind of fault, and a column for each backend. */
function faultsTable(results: readonly KeptResult[]): string {
  const kinds = ALL_KINDS.filter((kind) => results.some((result) => ofKind(result, kind).length > 0));
  return table(
    ["fault", ...results.map(({ backend }) => nameOf(backend))],
    kinds.map((kind) => [`\`${kind}\``, ...results.map((result) => cell(ofKind(result, kind)))]),
  );
}

/** What each fault is, and the codes that callers saw. */
function kindsTable(results: readonly KeptResult[]): string {
  const kinds = ALL_KINDS.filter((kind) => results.some((result) => ofKind(result, kind).length > 0));
  return table(
    ["fault", "what happens", "codes that callers saw"],
    kinds.map((kind) => {
      const codes = results.flatMap((result) => ofKind(result, kind).flatMap(({ codes: seen }) => Object.keys(seen)));
      const names = [...new Set(codes)].toSorted().map((code) => `\`${code}\``);
      return [`\`${kind}\``, KINDS[kind].title, names.length === 0 ? "none: each call gave a token" : names.join(" ")];
    }),
  );
}

/** The share of the calls that failed, and the longest recovery. */
function cell(episodes: readonly EpisodeResult[]): string {
  if (episodes.length === 0) return "";
  const calls = episodes.reduce((sum, episode) => sum + episode.calls, 0);
  const signed = episodes.reduce((sum, episode) => sum + episode.signed, 0);
  if (signed === calls) return "all signed";
  const recoveryMs = Math.max(...episodes.map((episode) => episode.recoveryMs));
  const failed = (100 * (calls - signed)) / calls;
  return `${failed < 1 ? "< 1" : Math.round(failed)} %, ${seconds(recoveryMs)}`;
}

/** The runs that the tables come from. */
function runsLine(results: readonly KeptResult[]): string {
  const runs = results.map(({ backend, seed, date, node, seconds: took, load, stalled }) =>
    [
      `${nameOf(backend)} seed ${seed}`,
      date,
      `Node ${node}`,
      `${took} s`,
      ...(load === undefined ? [] : [`load average ${load.toFixed(1)}`]),
      `${stalled} timeouts while the process stood still`,
    ].join(", "),
  );
  return `Runs: ${runs.join("; ")}.`;
}
