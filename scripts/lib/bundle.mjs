import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { isAbsolute, join, relative, sep } from "node:path";
import { ROOT } from "./repository.mjs";
import { publicPackages } from "./workspace.mjs";

/**
 * Programs that are started by path: a name in `dist`, and its source.
 *
 * @type {Readonly<Record<string, Readonly<Record<string, string>>>>}
 */
const PROGRAMS = {
  "packages/pkcs11": {
    "signpost-pkcs11-worker": "src/worker/entry.ts",
    "signpost-pkcs11-child": "src/process/entry.ts",
  },
  "packages/kubernetes": { bin: "src/bin.ts" },
  "packages/cli": { bin: "src/bin.ts", "pkcs11-program": "src/backends/pkcs11/program.ts" },
};

/**
 * Writes one file for each entry point of each package, and one file for the code that its entry points share. That way both
 * entry points export the same class. Bundles start faster, since Node takes longer to find 60 small modules than to run them.
 */
export async function bundlePackages() {
  const packages = publicPackages().map(async ({ folder, sources }) => {
    const bundles = [
      ...(Object.keys(sources).length === 0 ? [] : [bundle(folder, sources)]),
      ...Object.entries(PROGRAMS[folder] ?? {}).map(([name, source]) => bundle(folder, { [name]: source })),
    ];
    removeLeftovers(join(ROOT, folder), new Set((await Promise.all(bundles)).flat()));
  });
  await Promise.all(packages);
}

/**
 * @param {string} folder
 * @param {Readonly<Record<string, string>>} input names in `dist`, and their sources
 * @returns {Promise<string[]>} the files in `dist`
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
    // They are a third of the text that a fresh process reads. The declarations and the published sources have them.
    comments: { jsdoc: false },
    // No hash in the name, so that no build leaves files of an earlier build behind.
    chunkFileNames: ({ isDynamicEntry, facadeModuleId }) =>
      isDynamicEntry && facadeModuleId !== null ? lazyName(cwd, facadeModuleId) : `${Object.keys(input)[0]}-shared.js`,
  });
  await bundler.close();
  mkdirSync(join(cwd, "dist"), { recursive: true });
  for (const file of output) replace(join(cwd, "dist", file.fileName), file.type === "chunk" ? file.code : file.source);
  return output.map(({ fileName }) => fileName);
}

/**
 * Removes what an earlier build left in `dist`: other JavaScript than the bundles, and declarations of sources that were renamed.
 * It would be published.
 *
 * @param {string} folder
 * @param {ReadonlySet<string>} bundles
 */
export function removeLeftovers(folder, bundles) {
  const dist = join(folder, "dist");
  for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const name = relative(dist, path);
    const source = name.replace(/\.d\.ts(?:\.map)?$/, ".ts");
    const isKnown = source === name ? bundles.has(name) : existsSync(join(folder, "src", source));
    if (entry.isFile() && !isKnown && /\.(?:js|ts)(?:\.map)?$/.test(name)) rmSync(path, { force: true });
  }
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
