// node site/src/build.mjs FOLDER [BASE]: builds the site into FOLDER/dist and checks it. Prints one line for each problem.
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { build } from "vitepress";
import { ROOT } from "../../scripts/lib/repository.mjs";
import { publicEntryPoints } from "../../scripts/lib/workspace.mjs";
import { missingNames, siteProblems, withoutEntry } from "./check.mjs";
import { SECTIONS } from "./navigation.mjs";
import { REFERENCE, sourcePages } from "./pages.mjs";
import { prepareSite } from "./prepare.mjs";

const [folder = ".tmp/site", base = "/"] = process.argv.slice(2);
const work = resolve(ROOT, folder);
rmSync(work, { recursive: true, force: true });
await prepareSite(work);
await build(work, { base });

const dist = join(work, "dist");
const read = (/** @type {string} */ path) => (existsSync(path) ? readFileSync(path, "utf8") : "");
const entries = publicEntryPoints().map(({ name, id }) => ({
  name,
  report: read(join(ROOT, "etc", `${id}.api.md`)),
  page: read(join(dist, REFERENCE, `${name.replace(/^@[^/]+\//, "")}.html`)),
}));
const guides = sourcePages()
  .map(({ file }) => file)
  .filter((file) => file.startsWith("docs/"));
const problems = [...withoutEntry(guides, SECTIONS), ...missingNames(entries), ...siteProblems(dist, base)];
for (const problem of problems) process.stdout.write(`${problem}\n`);
process.exitCode = problems.length === 0 ? 0 : 1;
