import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * The package.json of an installed package, with the members that are read here.
 *
 * @typedef {object} Manifest
 * @property {string} name
 * @property {string} version
 * @property {string} [license]
 * @property {string | { url?: string }} [repository]
 * @property {Readonly<Record<string, string>>} [scripts]
 * @property {Readonly<Record<string, string>>} [dependencies]
 * @property {Readonly<Record<string, string>>} [optionalDependencies]
 */

/** @typedef {{ folder: string, manifest: Manifest }} Installed */

/**
 * An installed package, as Node finds it from a folder. The lockfile decides its version.
 *
 * @param {string} name
 * @param {string} from
 * @returns {Installed | undefined} undefined if it is not installed, as optional packages for other platforms are
 */
export function findInstalled(name, from) {
  const folder = join(from, "node_modules", name);
  if (existsSync(join(folder, "package.json"))) {
    const real = realpathSync(folder);
    return { folder: real, manifest: JSON.parse(readFileSync(join(real, "package.json"), "utf8")) };
  }
  return dirname(from) === from ? undefined : findInstalled(name, dirname(from));
}

/**
 * A package and everything that it needs at run time, each once.
 *
 * @param {Installed} root
 * @returns {Installed[]} the root first
 */
export function treeOf(root) {
  /** @type {Map<string, Installed>} */
  const found = new Map([[root.folder, root]]);
  // A Map also visits what is added during the walk.
  for (const { folder, manifest } of found.values()) {
    for (const name of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })) {
      const next = findInstalled(name, folder);
      if (next !== undefined) found.set(next.folder, next);
    }
  }
  return [...found.values()];
}

/**
 * The bytes of a package's files, as published: without pnpm's links to programs, and without what a native build adds.
 *
 * @param {string} folder
 */
export function sizeOf(folder) {
  const added = existsSync(join(folder, "binding.gyp")) ? ["node_modules", "build"] : ["node_modules"];
  return bytesIn(folder, added);
}

/** @param {string} folder @param {readonly string[]} [without] @returns {number} */
function bytesIn(folder, without = []) {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => !without.includes(name))
    .reduce((sum, entry) => {
      const path = join(folder, entry.name);
      return sum + (entry.isDirectory() ? bytesIn(path) : statSync(path).size);
    }, 0);
}
