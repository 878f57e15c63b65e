// Writes the results of `npm run faults -- --publish` into docs/reliability.md, between the two marks. Arguments: the folder of
// the results, and the page.
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { KeptResult } from "./report.ts";
import { inOrder, resultsSection } from "./tables.ts";

const BEGIN = "<!-- results: written by npm run faults -- --publish -->";
const END = "<!-- end of results -->";

const [folder = "", page = ""] = process.argv.slice(2);
const names = (await readdir(folder)).filter((name) => name.endsWith(".json"));
const results = inOrder(
  await Promise.all(names.map(async (name) => JSON.parse(await readFile(join(folder, name), "utf8")) as KeptResult)),
);
const text = await readFile(page, "utf8");
const [before, rest] = text.split(BEGIN);
const after = rest?.split(END)[1];
if (before === undefined || after === undefined) throw new Error(`${page} has no place for the results`);
await writeFile(page, `${before}${BEGIN}\n\n${resultsSection(results)}\n\n${END}${after}`);
