import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { run } from "../lib/process.mjs";
import { cacheFolder } from "../lib/repository.mjs";
import { installFromNpm } from "./npm.mjs";

/**
 * Installs another JavaScript runtime from the npm registry into the cache folder. The environment variable `variable` gives the
 * tests its path. The program is in the package for this platform, so no install script has to run.
 *
 * @param {{ name: string, version: string, scope: string, variable: string }} runtime
 */
export async function provideRuntime({ name, version, scope, variable }) {
  const folder = join(cacheFolder(), `${name}-${version}`);
  await installFromNpm(folder, [`${name}@${version}`]);
  const program = await findRunning(join(folder, "node_modules", scope), name);
  if (program === undefined) throw new Error(`${name} ${version} does not run on this machine`);
  return { [variable]: program };
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
