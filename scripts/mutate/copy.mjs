import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { run } from "../lib/process.mjs";
import { ROOT } from "../lib/repository.mjs";
import { must } from "../release/must.mjs";

/**
 * A copy of the sources, of what was built, and of the links to dependencies. Packages that import each other find each other in
 * the copy.
 *
 * @param {string} copy
 */
export async function copyClone(copy) {
  rmSync(copy, { recursive: true, force: true });
  const listed = await run("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"], { quiet: true });
  must("git ls-files", listed);
  const files = listed.output.split("\0").filter((name) => name !== "" && existsSync(join(ROOT, name)));
  for (const file of files) {
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    cpSync(join(ROOT, file), join(copy, file));
  }
  const members = files.filter((file) => file.endsWith("package.json")).map((file) => dirname(file));
  for (const member of members) {
    copyModules(member, copy);
    const dist = join(member, "dist");
    if (existsSync(join(ROOT, dist))) cpSync(join(ROOT, dist), join(copy, dist), { recursive: true });
  }
}

/** @param {string} member @param {string} copy */
function copyModules(member, copy) {
  const from = join(ROOT, member, "node_modules");
  const to = join(copy, member, "node_modules");
  if (!existsSync(from)) return;
  mkdirSync(to);
  for (const { name } of readdirSync(from, { withFileTypes: true })) {
    // The store holds what comes from a registry. Caches stay where they are.
    if (name === ".pnpm" || name === ".bin") symlinkSync(join(from, name), join(to, name));
    else if (!name.startsWith("."))
      cpSync(join(from, name), join(to, name), { recursive: true, verbatimSymlinks: true });
  }
}
