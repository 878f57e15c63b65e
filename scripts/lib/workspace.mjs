import { readdirSync } from "node:fs";
import { join } from "node:path";
import { readJson, ROOT } from "./repository.mjs";

/**
 * @typedef {object} PublicPackage
 * @property {string} folder relative to the clone
 * @property {string} name
 * @property {string} version
 * @property {readonly string[]} entryPoints import specifiers of its code
 * @property {boolean} hasProgram it has a `bin`
 */

/** Every package that is published. @returns {PublicPackage[]} */
export function publicPackages() {
  return readdirSync(join(ROOT, "packages"))
    .map((folder) => ({
      folder: join("packages", folder),
      manifest: readJson(join("packages", folder, "package.json")),
    }))
    .filter(({ manifest }) => manifest.private !== true)
    .map(({ folder, manifest }) => ({
      folder,
      name: manifest.name,
      version: manifest.version,
      entryPoints: entryPoints(manifest),
      hasProgram: manifest.bin !== undefined,
    }));
}

/** @param {{ name: string, exports?: Record<string, unknown> }} manifest */
function entryPoints({ name, exports = {} }) {
  return Object.keys(exports)
    .filter((path) => !path.endsWith(".json") && !path.includes("*"))
    .map((path) => join(name, path));
}
