import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { ROOT } from "./repository.mjs";
import { publicPackages } from "./workspace.mjs";

/**
 * What is started by its path, beside the entry points: a name below `dist` and its source.
 *
 * @type {Readonly<Record<string, Readonly<Record<string, string>>>>}
 */
const PROGRAMS = {
  "packages/pkcs11": { worker: "src/worker/entry.ts", child: "src/process/entry.ts" },
};

/**
 * Writes one file for each entry point of each package, and one for what its entry points share, so that a class is one
 * class whichever of them it comes from. Node takes longer to find 60 small modules than to run them.
 */
export async function bundlePackages() {
  const bundles = publicPackages().flatMap(({ folder, sources }) => [
    bundle(folder, sources),
    ...Object.entries(PROGRAMS[folder] ?? {}).map(([name, source]) => bundle(folder, { [name]: source })),
  ]);
  await Promise.all(bundles);
}

/**
 * @param {string} folder
 * @param {Readonly<Record<string, string>>} input names below `dist` and their sources
 */
async function bundle(folder, input) {
  const cwd = join(ROOT, folder);
  // Scripts that install it first import this file.
  const { rolldown } = await import("rolldown");
  const bundler = await rolldown({ cwd, input, platform: "node", external, transform: { target: "es2023" } });
  // The sources are published as well.
  const { output } = await bundler.generate({
    format: "esm",
    sourcemap: true,
    sourcemapExcludeSources: true,
    // Without the hash of their content in the name: no build leaves files of the one before behind, to be published.
    chunkFileNames: `${Object.keys(input)[0]}-shared.js`,
  });
  await bundler.close();
  mkdirSync(join(cwd, "dist"), { recursive: true });
  for (const file of output) replace(join(cwd, "dist", file.fileName), file.type === "chunk" ? file.code : file.source);
}

/**
 * What stays an import: other packages and Node's modules. core has to be one module for all, or its errors are instances
 * of several classes.
 *
 * @param {string} id
 */
function external(id) {
  return !id.startsWith(".") && !isAbsolute(id);
}

/**
 * In one step, and only by something else: other processes may be reading it.
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
