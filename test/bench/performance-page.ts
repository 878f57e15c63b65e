// Puts the results of `pnpm bench --publish` into docs/performance.md: between the two marks, one section a report,
// with its plots in docs/img. Arguments: the folder of the JSON reports, the page.
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { plotsOf } from "./plots.ts";
import { type BenchReport, toMarkdown } from "./report.ts";

const [results = "", page = ""] = process.argv.slice(2);
const BEGIN = "<!-- results: written by pnpm bench --publish -->";
const END = "<!-- end of results -->";

const images = join(dirname(page), "img");
await mkdir(images, { recursive: true });
const names = (await readdir(results)).filter((name) => name.endsWith(".json"));
const sections: string[] = [];
for (const name of names.toSorted()) {
  const report = JSON.parse(await readFile(join(results, name), "utf8")) as BenchReport;
  const plots = plotsOf(report).map(({ name: plot, svg }) => ({ file: join(images, `bench-${plot}.svg`), svg }));
  for (const { file, svg } of plots) await writeFile(file, svg);
  const pictures = plots.map(({ file }) => `![${report.title}](img/${basename(file)})`);
  sections.push([toMarkdown(report), ...pictures].join("\n"));
}
// Behaviour is told by a table alone.
const behaviour = await readFile(join(results, "peers.md"), "utf8").catch(() => undefined);
if (behaviour !== undefined) sections.push(behaviour);

const text = await readFile(page, "utf8");
const [before = "", rest = ""] = text.split(BEGIN);
const [, after = ""] = rest.split(END);
await writeFile(page, `${before}${BEGIN}\n\n${sections.join("\n\n")}\n${END}${after}`);
