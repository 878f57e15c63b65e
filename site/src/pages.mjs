import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { ROOT } from "../../scripts/lib/repository.mjs";

/**
 * A Markdown file of the clone that is a page of the site.
 *
 * @typedef {object} Page
 * @property {string} file relative to the clone
 * @property {string} path of its URL, without a slash before it and without an extension
 */

/** The folder of the API reference on the site, whose pages come from the sources. */
export const REFERENCE = "api";

/** Every page that comes from a Markdown file: guides, README files, the home page. @returns {Page[]} */
export function sourcePages() {
  const files = [
    ...Object.keys(TOP),
    ...markdownIn("docs"),
    ...["packages", "examples"].flatMap((parent) =>
      readdirSync(join(ROOT, parent)).map((member) => posix.join(parent, member, "README.md")),
    ),
    ...markdownIn("site/pages"),
  ];
  return files.filter((file) => existsSync(join(ROOT, file))).map((file) => ({ file, path: pathOf(file) }));
}

/** @param {string} folder */
function markdownIn(folder) {
  return readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith(".md"))
    .map((name) => posix.join(folder, name));
}

/** @type {Readonly<Record<string, string>>} */
const TOP = { "README.md": "overview", "CONTRIBUTING.md": "contributing", "SECURITY.md": "security" };

/** @param {string} file */
function pathOf(file) {
  return TOP[file] ?? file.replace(/^(?:docs|site\/pages)\//, "").replace(/(?:\/README)?\.md$/, "");
}

/**
 * Writes the pages into a folder, each at the path of its URL, with their pictures. A page that has not changed is left alone, so
 * that a server that watches the folder reloads only what changed.
 *
 * @param {string} folder
 */
export function writePages(folder) {
  for (const { file, path } of sourcePages()) {
    const target = join(folder, `${path}.md`);
    const text = readFileSync(join(ROOT, file), "utf8");
    if (existsSync(target) && readFileSync(target, "utf8") === text) continue;
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
  }
  cpSync(join(ROOT, "docs/img"), join(folder, "img"), { recursive: true });
}
