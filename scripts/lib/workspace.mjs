import { readdirSync } from "node:fs";
import { join } from "node:path";
import { readJson, ROOT } from "./repository.mjs";

/**
 * @typedef {object} PublicPackage
 * @property {string} folder relative to the clone
 * @property {string} name
 * @property {string} version
 * @property {readonly string[]} entryPoints import specifiers of its code
 * @property {Readonly<Record<string, string>>} sources of its entry points, by their names in `dist`
 * @property {boolean} hasProgram whether it has a `bin`
 */

/**
 * A module that users import.
 *
 * @typedef {object} EntryPoint
 * @property {string} name `@signpost/core/adapter`
 * @property {string} id the name for use in a file name: `core.adapter`
 * @property {string} folder of its package, relative to the clone
 * @property {string} declarations its `.d.ts`, relative to the clone
 * @property {string} source its TypeScript, relative to the clone
 */

/** Every entry point of every published package. @returns {EntryPoint[]} */
export function publicEntryPoints() {
  return publicPackages().flatMap(({ folder, entryPoints }) => {
    const { exports = {} } = readJson(join(folder, "package.json"));
    return entryPoints.map((name) => {
      const [, member = "", ...path] = name.split("/");
      const key = ["."].concat(path).join("/");
      return {
        name,
        id: [member, ...path].join("."),
        folder,
        declarations: join(folder, exports[key].types),
        source: join(folder, exports[key]["@signpost/source"]),
      };
    });
  });
}

/** Every published package. @returns {PublicPackage[]} */
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
      sources: sources(manifest),
      hasProgram: manifest.bin !== undefined,
    }));
}

/** @param {{ name: string, exports?: Record<string, unknown> }} manifest */
function entryPoints({ name, exports = {} }) {
  return Object.keys(exports)
    .filter((path) => !path.endsWith(".json") && !path.includes("*"))
    .map((path) => join(name, path));
}

/** @param {{ exports?: Record<string, { "@signpost/source"?: string, default?: string }> }} manifest */
function sources({ exports = {} }) {
  return Object.fromEntries(
    Object.values(exports).flatMap(({ "@signpost/source": source, default: built }) =>
      source === undefined || built === undefined ? [] : [[built.replace(/^\.\/dist\/|\.js$/g, ""), source]],
    ),
  );
}
