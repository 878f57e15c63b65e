import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { ROOT } from "./repository.mjs";

/**
 * `fast` tests cover every rule. `soak` tests are long load and memory runs. Their file names contain `soak`:
 * `load.soak.softhsm.test.ts`.
 *
 * @typedef {"fast" | "soak"} Tier
 */

/**
 * @typedef {object} TestFile
 * @property {string} path relative to the clone
 * @property {Tier} tier
 * @property {readonly string[]} backends
 */

/**
 * Every test file, with the tier and backends in its name: `sign.softhsm.test.ts` needs `softhsm`.
 *
 * @param {readonly string[]} [filters] as for vitest: keeps the paths that contain one of them
 * @returns {TestFile[]}
 */
export function listTestFiles(filters = []) {
  return testFolders()
    .flatMap((folder) => filesBelow(folder))
    .filter((path) => path.endsWith(".test.ts"))
    .filter((path) => filters.length === 0 || filters.some((filter) => path.includes(filter)))
    .map((path) => ({ path, ...readTestName(basename(path)) }));
}

/** @param {string} name `NAME[.soak][.BACKEND …].test.ts` */
export function readTestName(name) {
  const words = basename(name, ".test.ts").split(".").slice(1);
  /** @type {Tier} */
  const tier = words.includes("soak") ? "soak" : "fast";
  return { tier, backends: words.filter((word) => word !== "soak") };
}

function testFolders() {
  const ofMembers = ["packages", "examples"].flatMap((parent) =>
    foldersIn(parent).map((member) => join(parent, member, "test")),
  );
  return [...ofMembers, "test/e2e", "test/fuzz"].filter((folder) => existsSync(join(ROOT, folder)));
}

/** @param {string} parent */
function foldersIn(parent) {
  const entries = readdirSync(join(ROOT, parent), { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
}

/** @param {string} folder @returns {string[]} */
function filesBelow(folder) {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === "node_modules" ? [] : filesBelow(path);
    return [path];
  });
}
