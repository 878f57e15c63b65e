// node scripts/record-durations.mjs: writes how long the test files of the last `npm test` took, for the order in which they
// start. Files that it did not run keep what was measured before, as long as they are there.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { readJson, ROOT } from "./lib/repository.mjs";
import { RESULTS } from "./lib/tests.mjs";

const FILE = "test/durations.json";
/** The order of shorter files does not matter. */
const LEAST_SECONDS = 2;

/** @type {{ testResults: readonly { name: string, startTime: number, endTime: number }[] }} */
const { testResults } = JSON.parse(readFileSync(RESULTS, "utf8"));
const measured = testResults.map(({ name, startTime, endTime }) => [
  relative(ROOT, name),
  Math.round((endTime - startTime) / 1000),
]);
const all = Object.entries({ ...readJson(FILE), ...Object.fromEntries(measured) })
  .filter(([path, seconds]) => seconds >= LEAST_SECONDS && existsSync(join(ROOT, path)))
  .toSorted(([one], [other]) => one.localeCompare(other));
writeFileSync(join(ROOT, FILE), `${JSON.stringify(Object.fromEntries(all), null, 2)}\n`);
