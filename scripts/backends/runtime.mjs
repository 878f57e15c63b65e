import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { run } from "../lib/process.mjs";
import { cacheFolder } from "../lib/repository.mjs";
import { installFromNpm } from "./npm.mjs";

/** The versions that are tested. The pages name them. */
export const RUNTIME_VERSIONS = { bun: "1.4.5", deno: "2.9.6" };

/** The npm scopes of their programs. */
const SCOPES = { bun: "@oven", deno: "@deno" };

/**
 * Installs another JavaScript runtime from the npm registry into the cache folder. `SIGNPOST_BUN` and `SIGNPOST_DENO` give the
 * tests its path. The program is in the package for this platform, so no install script has to run.
 *
 * @param {keyof typeof RUNTIME_VERSIONS} name
 */
export async function provideRuntime(name) {
  const version = RUNTIME_VERSIONS[name];
  const folder = join(cacheFolder(), `${name}-${version}`);
  await installFromNpm(folder, [`${name}@${version}`]);
  const program = await findRunning(join(folder, "node_modules", SCOPES[name]), name);
  if (program === undefined) throw new Error(`${name} ${version} does not run on this machine`);
  return { [`SIGNPOST_${name.toUpperCase()}`]: program };
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
