import { join } from "node:path";
import { bundlePackages } from "./bundle.mjs";
import { run } from "./process.mjs";

/**
 * Everything that runs as JavaScript: `tsc -b` checks and writes declarations (of examples, benchmarks and test backends
 * their JavaScript too), the bundler writes what is published. A type error does not keep the bundles from being written.
 *
 * @param {readonly string[]} [projects] folders with a tsconfig.json. Default: the packages and test/backends
 * @returns {Promise<boolean>} false when it failed, with the tools' own words shown
 */
export async function build(projects = []) {
  const { ok } = await run(process.execPath, [join("node_modules", "typescript/bin/tsc"), "-b", ...projects]);
  await bundlePackages();
  return ok;
}
