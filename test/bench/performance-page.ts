// Writes the results of `npm run bench -- --publish` into two pages. The first one gets a summary and the plots, between the two
// marks. The second one has every figure: the machine, every target with its results, and one table per report. The
// comparison of libraries is in docs/verify-peers.md. Arguments: the folder of the JSON reports, the two pages.
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { writeWhole } from "@signpost/test-pages/write-whole";
import { plotsOf } from "./plots.ts";
import { type BenchReport, figure, toMarkdown } from "./report.ts";
import { summaryOf } from "./summary.ts";
import { targetsTable } from "./targets.ts";

const [results = "", page = "", figuresPage = ""] = process.argv.slice(2);
const BEGIN = "<!-- results: written by npm run bench -- --publish -->";
const END = "<!-- end of results -->";
const PLOT = /^bench-.*\.svg$/;

const names = (await readdir(results)).filter((name) => name.endsWith(".json"));
const reports = await Promise.all(
  names.toSorted().map(async (name) => JSON.parse(await readFile(join(results, name), "utf8")) as BenchReport),
);

const text = await readFile(page, "utf8");
const [before, rest] = text.split(BEGIN);
const after = rest?.split(END)[1];
if (before === undefined || after === undefined) throw new Error(`${page} has no place for the results`);

const images = join(dirname(page), "img");
await mkdir(images, { recursive: true });
const plots = plotsOf(reports);
const files = plots.map(({ name }) => `bench-${name}.svg`);
for (const old of await readdir(images)) if (PLOT.test(old) && !files.includes(old)) await rm(join(images, old));
for (const { name, svg } of plots) await writeWhole(join(images, `bench-${name}.svg`), svg);
const sections = plots.map(({ name, question }) => `## ${question}\n\n![${question}](img/bench-${name}.svg)`);
await writeWhole(page, `${before}${BEGIN}\n\n${[summaryOf(reports), ...sections].join("\n\n")}\n\n${END}${after}`);

await writeWhole(
  figuresPage,
  [
    "# Performance figures",
    "",
    "Every benchmark, every row and every target. `npm run bench -- --publish` writes this page. [Performance](performance.md) has the",
    "summary, and [how we measure](performance-method.md) explains the columns.",
    "",
    "## Targets and results",
    "",
    machines(),
    "",
    targetsTable(reports),
    ...reports.map(toMarkdown),
  ].join("\n"),
);

/** One line for each machine that results come from, with the load during each benchmark. */
function machines(): string {
  const lines = new Map<string, string[]>();
  for (const { name, date, machine, quick } of reports) {
    const { processor, cores, memoryGiB, system, node } = machine;
    const line = `${processor}, ${cores} cores, ${memoryGiB} GiB, ${system}, Node ${node}; ${date}.`;
    const load = `${name} ${figure(machine.load)}${quick ? " (a quick run)" : ""}`;
    lines.set(line, [...(lines.get(line) ?? []), load]);
  }
  return [...lines]
    .map(([line, loads]) => `${line} Load average of the minute before each: ${loads.join(", ")}.`)
    .join("\n\n");
}
