import { join } from "node:path";
import { bundlePackages } from "./bundle.mjs";
import { run } from "./process.mjs";

/**
 * Builds everything that runs as JavaScript. `tsc -b` checks the types and writes declarations, and also the JavaScript of
 * examples, benchmarks and test backends. The bundler writes the published files, even after a type error.
 *
 * @param {readonly string[]} [projects] folders with a tsconfig.json. Default: the packages and test/backends
 * @returns {Promise<boolean>} false if it failed. The output of the tools is shown
 */
export async function build(projects = []) {
  const { ok } = await run(process.execPath, [join("node_modules", "typescript/bin/tsc"), "-b", ...projects]);
  await bundlePackages();
  return ok;
}
