// Writes the results of `npm run faults -- --publish` into docs/reliability.md, between the two marks, and its plots into the
// folder `img` next to it. Arguments: the folder of the results, and the page.
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { writeWhole } from "@signpost/test-pages/write-whole";
import { plotsOf } from "./plots.ts";
import type { KeptResult } from "./report.ts";
import { inOrder, resultsSection } from "./tables.ts";

const BEGIN = "<!-- results: written by npm run faults -- --publish -->";
const END = "<!-- end of results -->";
const PLOT = /^faults-.*\.svg$/;

const [folder = "", page = ""] = process.argv.slice(2);
const names = (await readdir(folder)).filter((name) => name.endsWith(".json"));
const results = inOrder(
  await Promise.all(names.map(async (name) => JSON.parse(await readFile(join(folder, name), "utf8")) as KeptResult)),
);
const text = await readFile(page, "utf8");
const [before, rest] = text.split(BEGIN);
const after = rest?.split(END)[1];
if (before === undefined || after === undefined) throw new Error(`${page} has no place for the results`);

const images = join(dirname(page), "img");
await mkdir(images, { recursive: true });
const plots = plotsOf(results);
const files = plots.map(({ name }) => `faults-${name}.svg`);
for (const old of await readdir(images)) if (PLOT.test(old) && !files.includes(old)) await rm(join(images, old));
for (const { name, svg } of plots) await writeWhole(join(images, `faults-${name}.svg`), svg);
await writeWhole(page, `${before}${BEGIN}\n\n${resultsSection(results, plots)}\n\n${END}${after}`);
