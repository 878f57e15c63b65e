import { arch, cpus, loadavg, platform, release, totalmem } from "node:os";
import type { PairingResult, Target } from "./measure.ts";
import type { Estimate, Spread } from "./statistics.ts";
import { judgedParts, partsOf, verdictOf } from "./verdict.ts";

export interface BenchReport {
  readonly name: string;
  readonly title: string;
  /** A quick run shows that the benchmark works; its figures are not to be published. */
  readonly quick: boolean;
  readonly date: string;
  readonly machine: Machine;
  /** Versions of what was measured, by package name. */
  readonly versions: Readonly<Record<string, string>>;
  readonly results: readonly PairingResult[];
  /** Values that are counted once and not paired: sizes, numbers of calls. */
  readonly facts: readonly Fact[];
}

export interface Fact {
  readonly name: string;
  readonly value: string;
  /** Its target, if it has one. */
  readonly target?: { readonly words: string; readonly isMet: boolean };
}

export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memoryGiB: number;
  /** One-minute load average before the first row. Other work on the machine shows in it. */
  readonly load: number;
  readonly system: string;
  readonly node: string;
}

export function thisMachine(): Machine {
  const processors = cpus();
  return {
    processor: processors[0]?.model.trim() ?? "unknown",
    cores: processors.length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    load: loadavg()[0] ?? Number.NaN,
    system: `${platform()} ${arch()} ${release()}`,
    node: process.versions.node,
  };
}

const COLUMNS = [
  "row",
  "ours",
  "median ms (p25 to p75, p99)",
  "peer",
  "median ms (p25 to p75, p99)",
  "added ms",
  "ratio",
  "added CPU ms",
  "of the limit, ours and peer",
  "pairs × operations",
  "target",
];

/** One table; brackets hold 95 % confidence intervals of the median of the paired values. */
export function toMarkdown(report: BenchReport): string {
  const { machine } = report;
  const versions = Object.entries(report.versions).map(([name, version]) => `${name} ${version}`);
  return [
    `## ${report.title}`,
    "",
    ...(report.quick ? ["A quick run: it shows that the benchmark works, and no figure to rely on.", ""] : []),
    row(COLUMNS),
    row(COLUMNS.map(() => "---")),
    ...report.results.map(resultRow),
    "",
    ...(report.facts.length === 0 ? [] : [...factsTable(report.facts), ""]),
    `${machine.processor}, ${machine.cores} cores, ${machine.memoryGiB} GiB, load ${figure(machine.load)}, ${machine.system}, Node ${machine.node}; ${[...versions, report.date].join("; ")}.`,
    "Brackets: 95 % confidence interval of the median of the paired values.",
    "",
  ].join("\n");
}

/** With a column for targets if there are any. */
function factsTable(facts: readonly Fact[]): readonly string[] {
  if (facts.every((fact) => fact.target === undefined)) {
    return [row(["fact", "value"]), row(["---", "---"]), ...facts.map(({ name, value }) => row([name, value]))];
  }
  return [
    row(["fact", "value", "target"]),
    row(["---", "---", "---"]),
    ...facts.map(({ name, value, target: wanted }) =>
      row([name, value, wanted === undefined ? "none" : `${wanted.words}: ${wanted.isMet ? "met" : "not met"}`]),
    ),
  ];
}

function resultRow(result: PairingResult): string {
  return row([
    result.name,
    result.ours.name,
    spread(result.ours.ms),
    result.peer.name,
    spread(result.peer.ms),
    estimate(result.addedMs),
    estimate(result.ratio),
    processorTime(result),
    result.ofIdeal === undefined ? "" : `${percent(result.ofIdeal.ours)}, ${percent(result.ofIdeal.peer)}`,
    `${result.pairs} × ${result.operations}`,
    target(result),
  ]);
}

function processorTime({ addedCpuMs, cpuRatio, target: limits, showsCpuRatio = false }: PairingResult): string {
  const showsRatio = showsCpuRatio || limits.cpuRatio !== undefined;
  return showsRatio && cpuRatio !== undefined
    ? `${estimate(addedCpuMs)}, ratio ${estimate(cpuRatio)}`
    : estimate(addedCpuMs);
}

export function row(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}

function spread({ median, p25, p75, p99 }: Spread): string {
  return `${figure(median)} (${figure(p25)} to ${figure(p75)}, ${figure(p99)})`;
}

export function estimate({ value, low, high }: Estimate): string {
  return `${figure(value)} [${figure(low)}, ${figure(high)}]`;
}

const TARGET_WORDS: Readonly<Record<keyof Target, string>> = {
  addedMs: "added",
  ratio: "ratio",
  addedCpuMs: "added CPU",
  cpuRatio: "CPU ratio",
  ofIdeal: "of the limit",
};

function target(result: PairingResult): string {
  const parts = partsOf(result.target);
  if (parts.length === 0) return "none";
  if (judgedParts(result).length === 0) return "none: the peer is out of CPU";
  const words = parts.map((part) => targetWords(part, result.target[part] ?? 0));
  return `${words.join(", ")}: ${verdictOf(result) === true ? "met" : "not met"}`;
}

export function targetWords(part: keyof Target, limit: number): string {
  return `${TARGET_WORDS[part]} ${part === "ofIdeal" ? "≥" : "≤"} ${figure(limit)}`;
}

export function percent(part: number): string {
  return `${figure(100 * part)} %`;
}

/** Milliseconds, below the resolution of any clock here. */
const NEXT_TO_NOTHING = 1e-9;

/** Three significant digits, and never an exponent. */
export function figure(value: number): string {
  // The rounding error of sums and differences that should be 0.
  if (Math.abs(value) < NEXT_TO_NOTHING) return "0";
  return value.toLocaleString("en", { maximumSignificantDigits: 3, useGrouping: false });
}
