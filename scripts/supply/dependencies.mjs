import { join } from "node:path";
import { readJson, ROOT } from "../lib/repository.mjs";
import { publicPackages } from "../lib/workspace.mjs";
import { findInstalled } from "./installed.mjs";

/**
 * Something that a published package needs at run time from another project.
 *
 * @typedef {object} Dependency
 * @property {string} name
 * @property {string} range
 * @property {"dependency" | "peer" | "optional peer"} kind
 * @property {string} user the published package that needs it
 * @property {import("./installed.mjs").Installed} installed what the tests run with
 */

/** Folders of packages that install an optional peer for their own tests. @type {Readonly<Record<string, string>>} */
const INSTALLED_IN = { "@azure/identity": "examples/azure-container-apps" };

/** Every runtime dependency and peer of every published package, without the published packages themselves. @returns {Dependency[]} */
export function externalDependencies() {
  const packages = publicPackages();
  const own = new Set(packages.map(({ name }) => name));
  return packages.flatMap(({ name: user, folder }) => {
    const manifest = readJson(join(folder, "package.json"));
    const { dependencies = {}, optionalDependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = manifest;
    const direct = Object.entries({ ...dependencies, ...optionalDependencies });
    /** @type {[string, string, Dependency["kind"]][]} */
    const all = [
      ...direct.map(([name, range]) => /** @type {[string, string, "dependency"]} */ ([name, range, "dependency"])),
      ...Object.entries(peerDependencies).map(
        ([name, range]) =>
          /** @type {[string, string, "peer" | "optional peer"]} */ ([
            name,
            range,
            peerDependenciesMeta[name]?.optional === true ? "optional peer" : "peer",
          ]),
      ),
    ];
    return all
      .filter(([name]) => !own.has(name))
      .map(([name, range, kind]) => ({ name, range, kind, user, installed: install(name, folder) }));
  });
}

/** @param {string} name @param {string} folder of the package that needs it */
function install(name, folder) {
  const found = findInstalled(name, join(ROOT, INSTALLED_IN[name] ?? folder));
  if (found === undefined) throw new Error(`${name} is not installed: run \`npm run pnpm -- install\``);
  return found;
}
