// Writes the results of `pnpm bench --publish` into docs/performance.md, between the two marks: the machine, every target
// with its results, and one section per report, with its plots in docs/img. The comparison of libraries is in
// docs/verify-peers.md. Arguments: the folder of the JSON reports, the page.
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { plotsOf } from "./plots.ts";
import { type BenchReport, figure, toMarkdown } from "./report.ts";
import { targetsTable } from "./targets.ts";

const [results = "", page = ""] = process.argv.slice(2);
const BEGIN = "<!-- results: written by pnpm bench --publish -->";
const END = "<!-- end of results -->";
const PLOT = /^bench-.*\.svg$/;

const names = (await readdir(results)).filter((name) => name.endsWith(".json"));
const reports = await Promise.all(
  names.toSorted().map(async (name) => JSON.parse(await readFile(join(results, name), "utf8")) as BenchReport),
);
const images = join(dirname(page), "img");
await mkdir(images, { recursive: true });
for (const old of await readdir(images)) if (PLOT.test(old)) await rm(join(images, old));
const sections: string[] = [];
for (const report of reports) {
  const plots = plotsOf(report).map(({ name: plot, svg }) => ({ file: join(images, `bench-${plot}.svg`), svg }));
  for (const { file, svg } of plots) await writeFile(file, svg);
  const pictures = plots.map(({ file }) => `![${report.title}](img/${basename(file)})`);
  sections.push([toMarkdown(report), ...pictures].join("\n"));
}

const text = await readFile(page, "utf8");
const [before = "", rest = ""] = text.split(BEGIN);
const [, after = ""] = rest.split(END);
const overview = ["## Targets and results", "", machines(), "", targetsTable(reports)].join("\n");
await writeFile(page, `${before}${BEGIN}\n\n${[overview, ...sections].join("\n\n")}\n${END}${after}`);

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
