import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../lib/process.mjs";
import { cacheFolder } from "../lib/repository.mjs";
import { say } from "../lib/say.mjs";

/**
 * Installs another JavaScript runtime from the npm registry into the cache folder. The environment variable `variable` gives the
 * tests its path. The program is in the package for this platform, so no install script has to run.
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

/** Installed under another name and renamed, so that an interrupted installation is never used. @param {string} folder @param {string} what */
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
  throw new Error(`npm could not install ${what}:\n${output}`);
}

/** npm may install several builds for one platform, such as for older processors or another libc. @param {string} scope @param {string} name */
async function findRunning(scope, name) {
  const builds = existsSync(scope) ? readdirSync(scope) : [];
  for (const build of builds) {
    for (const program of [join(scope, build, "bin", name), join(scope, build, name)]) {
      if (existsSync(program) && (await run(program, ["--version"], { quiet: true })).ok) return program;
    }
  }
  return undefined;
}
