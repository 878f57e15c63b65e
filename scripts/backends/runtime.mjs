import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../lib/process.mjs";
import { cacheFolder } from "../lib/repository.mjs";
import { say } from "../lib/say.mjs";

/**
 * Installs another JavaScript runtime from the npm registry into the cache folder, and gives the tests its path in the
 * environment variable `variable`. The program is in the package for this platform, which needs no install script.
 *
 * @param {{ name: string, version: string, scope: string, variable: string }} runtime
 */
export async function provideRuntime({ name, version, scope, variable }) {
  const folder = join(cacheFolder(), `${name}-${version}`);
  if (!existsSync(folder)) await install(folder, `${name}@${version}`);
  const program = await findRunning(join(folder, "node_modules", scope), name);
  if (program === undefined) throw new Error(`${name} ${version} does not run on this machine`);
  return { [variable]: program };
}

/** Installed next to its place and renamed, so that an interrupted installation is never used. @param {string} folder @param {string} what */
async function install(folder, what) {
  say(`Installing ${what}`);
  const unfinished = `${folder}.${process.pid}`;
  mkdirSync(unfinished, { recursive: true });
  writeFileSync(join(unfinished, "package.json"), JSON.stringify({ private: true }));
  const args = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--save-exact", what];
  const { ok, output } = await run("npm", args, { cwd: unfinished, quiet: true });
  if (ok) {
    renameSync(unfinished, folder);
    return;
  }
  rmSync(unfinished, { recursive: true, force: true });
  throw new Error(`${what} could not be installed:\n${output}`);
}

/** npm may install several builds for one platform: for older processors, for another libc. @param {string} scope @param {string} name */
async function findRunning(scope, name) {
  const builds = existsSync(scope) ? readdirSync(scope) : [];
  for (const build of builds) {
    for (const program of [join(scope, build, "bin", name), join(scope, build, name)]) {
      if (existsSync(program) && (await run(program, ["--version"], { quiet: true })).ok) return program;
    }
  }
  return undefined;
}
