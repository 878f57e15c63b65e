import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { judgeAll, runBaseline, usualLimit } from "./judge.mjs";
import { render } from "./render.mjs";

/** @typedef {import("./judge.mjs").Baseline} Baseline */
/** @typedef {import("./judge.mjs").Verdict} Verdict */
/** @typedef {import("./lane.mjs").Lane} Lane */
/** @typedef {import("./mutants.mjs").Mutant} Mutant */
/**
 * @typedef {object} Measurement
 * @property {readonly Lane[]} lanes
 * @property {readonly Mutant[]} mutants
 * @property {readonly string[]} tests relative to a lane's folder
 * @property {(lane: Lane) => Promise<void>} bundle makes what programs of tests run out of the sources
 * @property {(baseline: Baseline) => void} [onBaseline]
 * @property {(verdict: Verdict) => void} onVerdict
 * @property {(durationMs: number) => number} [limitOf] how long a test file may take that takes so long without a mutant
 */

/**
 * Plants mutants in the copies, and runs the tests with each.
 *
 * @param {Measurement} measurement
 * @returns {Promise<{ verdicts: readonly Verdict[], failed: Baseline["failed"], seconds: number }>}
 */
export async function measure({ lanes, mutants, tests, bundle, onBaseline, onVerdict, limitOf = usualLimit }) {
  const started = performance.now();
  const planted = mutants.map((mutant, index) => ({ ...mutant, id: index + 1 }));
  for (const lane of lanes) {
    for (const file of new Set(planted.map((mutant) => mutant.file))) {
      const path = join(lane.folder, file);
      const inFile = planted.filter((mutant) => mutant.file === file);
      writeFileSync(path, render(readFileSync(path, "utf8"), inFile, lane.statePath));
    }
    await bundle(lane);
  }
  const baseline = await runBaseline(lanes, tests);
  onBaseline?.(baseline);
  const verdicts = await judgeAll(lanes, planted, baseline, { onVerdict, limitOf });
  return { verdicts, failed: baseline.failed, seconds: Math.round((performance.now() - started) / 1000) };
}
