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
 * @property {number} [endMs] after so many milliseconds no other mutant begins
 * @property {(durationMs: number) => number} [limitOf] how long a test file may take that takes so long without a mutant
 */

/**
 * Plants mutants in the copies, and runs the tests with each.
 *
 * @param {Measurement} measurement
 * @returns {Promise<{ verdicts: readonly Verdict[], left: number, failed: Baseline["failed"], seconds: number }>} `left`: how many did not run
 */
export async function measure(measurement) {
  const { lanes, mutants, tests, bundle, onBaseline, onVerdict, endMs = Infinity, limitOf = usualLimit } = measurement;
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
  const isOver = () => performance.now() - started >= endMs;
  const verdicts = await judgeAll(lanes, planted, baseline, { onVerdict, limitOf, isOver });
  const seconds = Math.round((performance.now() - started) / 1000);
  return { verdicts, left: planted.length - verdicts.length, failed: baseline.failed, seconds };
}
