import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { isAbsolute, join, relative, sep } from "node:path";
import { ROOT } from "./repository.mjs";
import { publicPackages } from "./workspace.mjs";

/**
 * Programs that are started by path: a name in `dist`, and its source.
 *
 * @type {Readonly<Record<string, Readonly<Record<string, string>>>>}
 */
const PROGRAMS = {
  "packages/pkcs11": { worker: "src/worker/entry.ts", child: "src/process/entry.ts" },
  "packages/cli": { bin: "src/bin.ts", "pkcs11-program": "src/backends/pkcs11/program.ts" },
};

/**
 * Writes one file for each entry point of each package, and one file for the code that its entry points share. That way both
 * entry points export the same class. Bundles start faster, since Node takes longer to find 60 small modules than to run them.
 */
export async function bundlePackages() {
  const bundles = publicPackages().flatMap(({ folder, sources }) => [
    ...(Object.keys(sources).length === 0 ? [] : [bundle(folder, sources)]),
    ...Object.entries(PROGRAMS[folder] ?? {}).map(([name, source]) => bundle(folder, { [name]: source })),
  ]);
  await Promise.all(bundles);
}

/**
 * @param {string} folder
 * @param {Readonly<Record<string, string>>} input names in `dist`, and their sources
 */
async function bundle(folder, input) {
  const cwd = join(ROOT, folder);
  // Imported here, because scripts that install rolldown import this file first.
  const { rolldown } = await import("rolldown");
  const bundler = await rolldown({ cwd, input, platform: "node", external, transform: { target: "es2023" } });
  // The source map needs no sources, since the sources are published too.
  const { output } = await bundler.generate({
    format: "esm",
    sourcemap: true,
    sourcemapExcludeSources: true,
    // No hash in the name, so that no build leaves files of an earlier build behind.
    chunkFileNames: ({ isDynamicEntry, facadeModuleId }) =>
      isDynamicEntry && facadeModuleId !== null ? lazyName(cwd, facadeModuleId) : `${Object.keys(input)[0]}-shared.js`,
  });
  await bundler.close();
  mkdirSync(join(cwd, "dist"), { recursive: true });
  for (const file of output) replace(join(cwd, "dist", file.fileName), file.type === "chunk" ? file.code : file.source);
}

/**
 * The file of a module that is imported when it is needed, named after its source: `kid-run.js` for `src/kid/run.ts`.
 *
 * @param {string} cwd
 * @param {string} module
 */
function lazyName(cwd, module) {
  return relative(join(cwd, "src"), module).replaceAll(sep, "-").replace(/\.ts$/, ".js");
}

/**
 * Other packages and Node's modules stay imports. All packages must share one copy of core, or its errors would be instances of
 * several classes.
 *
 * @param {string} id
 */
function external(id) {
  return !id.startsWith(".") && !isAbsolute(id);
}

/**
 * Replaces a file in one step, and only if its content changes, because other processes may be reading it.
 *
 * @param {string} path
 * @param {string | Uint8Array} content
 */
function replace(path, content) {
  if (existsSync(path) && readFileSync(path).equals(Buffer.from(content))) return;
  const written = `${path}.${process.pid}`;
  writeFileSync(written, content);
  renameSync(written, path);
}
