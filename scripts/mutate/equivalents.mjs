import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** @typedef {import("./mutants.mjs").Mutant} Mutant */
/**
 * A mutant that no test can notice, because it behaves as the source does.
 *
 * @typedef {{ file: string, change: string, reason: string }} Equivalent
 */

const LIST = fileURLToPath(new URL("equivalents.json", import.meta.url));

/** @returns {readonly Equivalent[]} */
export function readEquivalents() {
  return JSON.parse(readFileSync(LIST, "utf8"));
}

/** @param {readonly Equivalent[]} equivalents @returns {(mutant: Mutant) => boolean} */
export function isListed(equivalents) {
  const keys = new Set(equivalents.map(keyOf));
  return (mutant) => keys.has(keyOf(mutant));
}

/**
 * The entries that fit no mutant any more, because the source has changed.
 *
 * @param {readonly Equivalent[]} equivalents
 * @param {readonly Mutant[]} mutants
 */
export function outdated(equivalents, mutants) {
  const keys = new Set(mutants.map(keyOf));
  return equivalents.filter((entry) => !keys.has(keyOf(entry)));
}

/** @param {{ file: string, change: string }} mutant */
export function keyOf({ file, change }) {
  return `${file}\n${change}`;
}
