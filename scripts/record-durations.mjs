// node scripts/record-durations.mjs: records how long each test file took in the last `npm test`. The runner starts the longest
// files first. A file that did not run keeps its old duration, as long as the file exists.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { readJson, ROOT } from "./lib/repository.mjs";
import { RESULTS } from "./lib/tests.mjs";

const FILE = "test/durations.json";
/** Shorter files are not recorded, since their order does not matter. */
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
