import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { run } from "../lib/process.mjs";
import { say } from "../lib/say.mjs";

/**
 * Installs exact versions from the npm registry into a folder, unless the folder is there. Installed under another name and
 * renamed, so that an interrupted installation is never used.
 *
 * @param {string} folder
 * @param {readonly string[]} packages such as `next@16.4.6`
 */
export async function installFromNpm(folder, packages) {
  if (existsSync(folder)) return;
  const what = packages.join(" ");
  say(`Installing ${what}`);
  const unfinished = `${folder}.${process.pid}`;
  mkdirSync(unfinished, { recursive: true });
  writeFileSync(`${unfinished}/package.json`, JSON.stringify({ private: true }));
  const args = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--save-exact", ...packages];
  const { ok, output } = await run("npm", args, { cwd: unfinished, quiet: true });
  if (ok) {
    renameSync(unfinished, folder);
    return;
  }
  rmSync(unfinished, { recursive: true, force: true });
  throw new Error(`npm could not install ${what}:\n${output}`);
}
