import { say, sayOutput, secondsSince } from "../lib/say.mjs";
import { checkApi } from "./api.mjs";
import { checkChangesets } from "./changesets.mjs";
import { checkDependencies } from "./dependencies.mjs";
import { checkDocExamples } from "./doc-examples.mjs";
import { checkReproducible } from "./reproducible.mjs";
import { checkSbom } from "./sbom.mjs";
import { checkFormat, checkLint, checkTypes, checkUnused } from "./source.mjs";
import { checkNodeVersion, NODE_VERSIONS } from "./node-matrix.mjs";
import { checkRuntimes } from "./runtimes.mjs";
import { checkSite } from "./site.mjs";
import { checkTarballs } from "./tarballs.mjs";
import { checkWorkflows } from "./workflows.mjs";

/**
 * Everything that .ci/run checks in addition to the tests. `output` is shown if the gate fails.
 *
 * @typedef {() => Promise<{ ok: boolean, output: string }>} Gate
 * @type {Readonly<Record<string, Gate>>}
 */
export const GATES = {
  format: checkFormat,
  types: checkTypes,
  lint: checkLint,
  unused: checkUnused,
  examples: checkDocExamples,
  site: checkSite,
  api: checkApi,
  changesets: checkChangesets,
  dependencies: checkDependencies,
  workflows: checkWorkflows,
  tarballs: checkTarballs,
  sbom: checkSbom,
  reproducible: checkReproducible,
  runtimes: checkRuntimes,
  ...Object.fromEntries(NODE_VERSIONS.map((major) => [`node${major}`, () => checkNodeVersion(major)])),
};

/**
 * Runs gates one after the other. If one fails, the others still run.
 *
 * @param {readonly string[]} [names]
 * @returns {Promise<{ passed: number, failed: number }>}
 */
export async function runGates(names = Object.keys(GATES)) {
  const counts = { passed: 0, failed: 0 };
  for (const [name, gate] of Object.entries(GATES).filter(([key]) => names.includes(key))) {
    const started = performance.now();
    const { ok, output } = await settle(gate);
    say(`${ok ? "passed" : "FAILED"}  ${name} (${secondsSince(started)})`);
    if (!ok) sayOutput(output);
    counts[ok ? "passed" : "failed"] += 1;
  }
  return counts;
}

/** @param {Gate} gate @returns {ReturnType<Gate>} */
async function settle(gate) {
  try {
    return await gate();
  } catch (error) {
    return { ok: false, output: error instanceof Error ? error.message : String(error) };
  }
}
