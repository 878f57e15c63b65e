import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { measure } from "./measure.ts";
import type { Pairing } from "./measure.ts";
import { thisMachine, toMarkdown } from "./report.ts";
import type { BenchReport, Fact } from "./report.ts";
import { versionOf } from "./versions.ts";

export { concurrently, makeHot, sequentially } from "./measure.ts";
export type { Contender, Pairing } from "./measure.ts";
export type { Fact } from "./report.ts";

/** A benchmark: one file `NAME.bench.ts`, which passes it to `runBench`. */
export interface Bench {
  readonly name: string;
  readonly title: string;
  /** Packages whose versions the report shows. */
  readonly packages: readonly string[];
  /** Prepares the pairings, in the order in which they are measured, and returns how to end them. */
  readonly setUp: (quick: boolean) => Promise<BenchSetUp>;
}

export interface BenchSetUp {
  readonly pairings: readonly Pairing[];
  readonly tearDown: () => Promise<void>;
  /** Asked after the last row, before `tearDown`. */
  readonly facts?: () => Promise<readonly Fact[]>;
}

/** A quick run takes a tenth of the pairs, but enough for a confidence interval. */
const QUICK_FRACTION = 0.1;
const MIN_QUICK_PAIRS = 8;

/**
 * Measures every pairing and prints the report as a Markdown table. Arguments: `--quick` for a short run,
 * `--row=TEXT` for the rows whose name contains it, `--out=FOLDER` for `NAME.json` and `NAME.md` besides.
 */
export async function runBench(bench: Bench, args: readonly string[] = process.argv.slice(2)): Promise<BenchReport> {
  const { quick, row, out } = readOptions(args);
  const machine = thisMachine();
  const { pairings, tearDown, facts: countFacts } = await bench.setUp(quick);
  const results: BenchReport["results"][number][] = [];
  let facts: readonly Fact[] = [];
  try {
    for (const pairing of pairings.filter(({ name }) => name.includes(row))) {
      process.stderr.write(`${bench.name}: ${pairing.name}\n`);
      results.push(await measure(quick ? shortened(pairing) : pairing));
    }
    facts = (await countFacts?.()) ?? [];
  } finally {
    await tearDown();
  }
  const report: BenchReport = {
    name: bench.name,
    title: bench.title,
    quick,
    date: new Date().toISOString().slice(0, 10),
    machine,
    versions: await versionsOf(bench.packages),
    results,
    facts,
  };
  process.stdout.write(`${toMarkdown(report)}\n`);
  if (out !== undefined) await writeReport(report, out);
  return report;
}

function readOptions(args: readonly string[]): { quick: boolean; row: string; out: string | undefined } {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: "boolean", default: false },
      row: { type: "string", default: "" },
      out: { type: "string" },
    },
  });
  return { quick: values.quick, row: values.row, out: values.out };
}

function shortened(pairing: Pairing): Pairing {
  return { ...pairing, pairs: Math.max(MIN_QUICK_PAIRS, Math.ceil(pairing.pairs * QUICK_FRACTION)) };
}

async function versionsOf(packages: readonly string[]): Promise<Record<string, string>> {
  const versions = packages.map(async (name) => [name, await versionOf(name)] as const);
  return Object.fromEntries(await Promise.all(versions));
}

async function writeReport(report: BenchReport, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, `${report.name}.json`), `${JSON.stringify(report, null, 2)}\n`);
  await writeFile(join(folder, `${report.name}.md`), toMarkdown(report));
}
