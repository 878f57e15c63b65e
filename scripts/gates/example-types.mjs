import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../lib/process.mjs";
import { ROOT } from "../lib/repository.mjs";

/**
 * Compiles the example programs with another `@types/node` than this repository has. Users copy them into projects that have
 * the newest one. The packages are used through their declarations, as users have them.
 *
 * @param {string} folder where to write the configuration
 * @param {string} nodeModules the folder with that `@types/node`
 */
export async function checkExampleTypes(folder, nodeModules) {
  const project = join(folder, "examples.json");
  const compilerOptions = {
    composite: false,
    noEmit: true,
    declaration: false,
    declarationMap: false,
    isolatedDeclarations: false,
    customConditions: [],
    rootDir: ROOT,
    typeRoots: [join(nodeModules, "@types")],
    // NestJS has decorators of parameters, which the standard does not.
    experimentalDecorators: true,
  };
  const include = [join(ROOT, "examples/*/src/**/*.ts")];
  writeFileSync(project, JSON.stringify({ extends: join(ROOT, "tsconfig.base.json"), compilerOptions, include }));
  const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
  const { ok, output } = await run(process.execPath, [tsc, "-p", project], { cwd: ROOT, quiet: true });
  return { ok, output: `examples with the newest @types/node:\n${output}` };
}
