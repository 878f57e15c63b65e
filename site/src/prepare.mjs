import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { writePages } from "./pages.mjs";
import { writeReference } from "./reference.mjs";

/**
 * Writes all that VitePress reads into a folder, and nothing elsewhere, so that several builds can run at the same time.
 *
 * @param {string} work
 */
export async function prepareSite(work) {
  const pages = join(work, "pages");
  writePages(pages);
  await writeReference(pages);
  // VitePress keeps what it compiles next to its configuration.
  mkdirSync(join(work, ".vitepress/theme"), { recursive: true });
  writeFileSync(join(work, ".vitepress/config.mjs"), copyOf("./config.mjs"));
  writeFileSync(join(work, ".vitepress/theme/index.mjs"), copyOf("../theme/index.mjs"));
  // It also looks for its dependencies from there on.
  const modules = join(work, "node_modules");
  if (!existsSync(modules)) symlinkSync(pathFromHere("../node_modules"), modules);
}

/** @param {string} module relative to this file */
function copyOf(module) {
  return `export { default } from ${JSON.stringify(pathFromHere(module))};\n`;
}

/** @param {string} path */
function pathFromHere(path) {
  return fileURLToPath(new URL(path, import.meta.url));
}
