import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { provideBackends } from "../backends.mjs";
import { build } from "../lib/build.mjs";
import { run } from "../lib/process.mjs";
import { ROOT, scratchFolder } from "../lib/repository.mjs";
import { say, warn } from "../lib/say.mjs";
import { listTestFiles } from "../lib/test-files.mjs";
import { must } from "../release/must.mjs";
import { copyClone } from "./copy.mjs";
import { isWithin } from "./durations.mjs";
import { isListed, keyOf, readEquivalents } from "./equivalents.mjs";
import { Lane } from "./lane.mjs";
import { measure } from "./measure.mjs";
import { mutantsIn } from "./mutants.mjs";
import { describeFailed, describeVerdict, reportOf } from "./report.mjs";
import { sample } from "./sample.mjs";

/** @typedef {import("./arguments.mjs").Arguments} Arguments */
/** @typedef {import("./mutants.mjs").Mutant} Mutant */
/** @typedef {import("./report.mjs").Run} Run */

/** One for each of two cores. */
const LANES = 2;

/**
 * Measures the tests of a package.
 *
 * @param {Arguments} given
 * @returns {Promise<Run>}
 */
export async function mutatePackage(given) {
  const { name, seed } = given;
  const all = await mutantsIn(ROOT, join("packages", name, "src"), given);
  const chosen = choose(all, given);
  say(`${name}: ${chosen.length} of ${all.length} mutants, seed ${seed}`);
  const { tests, env } = await provideTests(given);
  must("npm run build", { ok: await build(), output: "" });

  const folder = mkdtempSync(join(scratchFolder("mutate"), "run-"));
  // Programs that run as another user read the copies too.
  chmodSync(folder, 0o755);
  const lanes = Array.from({ length: LANES }, (_, index) => new Lane(join(folder, `${index}`), env));
  // The copies have tests, which a test runner in the clone would find.
  const remove = () => rmSync(folder, { recursive: true, force: true });
  // At once, because a lane that has ended is started again for the next file.
  const stop = () => {
    for (const lane of lanes) lane.kill();
    try {
      remove();
    } catch {
      // Something still writes to them, such as a build.
      warn(`Remove the copies yourself: ${folder}`);
    }
    process.exit(1);
  };
  process.once("SIGINT", stop).once("SIGTERM", stop);
  try {
    for (const lane of lanes) await copyClone(lane.folder);
    const bundle = async (/** @type {Lane} */ { folder }) =>
      must(
        "Bundling a copy",
        await run(process.execPath, ["scripts/mutate/bundle-copy.mjs"], { cwd: folder, quiet: true }),
      );
    const measured = await measure({
      lanes,
      mutants: chosen,
      tests,
      bundle,
      endMs: given.minutes * 60_000,
      onBaseline: ({ durations, failed }) => {
        for (const line of describeFailed(failed)) warn(line);
        say(`${durations.size} test files pass without a mutant`);
      },
      onVerdict: (verdict) => say(describeVerdict(verdict)),
    });
    const result = { ...given, candidates: all.length, ...measured };
    if (given.json !== undefined) writeFileSync(given.json, `${JSON.stringify(reportOf(result), undefined, 2)}\n`);
    return result;
  } finally {
    process.off("SIGINT", stop).off("SIGTERM", stop);
    await Promise.all(lanes.map((lane) => lane.close()));
    remove();
  }
}

/** @param {readonly Mutant[]} all @param {Arguments} given */
function choose(all, { sample: size, seed, again }) {
  const listed = isListed(readEquivalents());
  const others = all.filter((mutant) => !listed(mutant));
  if (again === undefined) return sample(others, size, seed);
  const { survivors } = JSON.parse(readFileSync(again, "utf8"));
  const keys = new Set(survivors.map(keyOf));
  return others.filter((mutant) => keys.has(keyOf(mutant)));
}

/**
 * The fast tests whose backends are available and that take no longer than they may, and what they need in their environment.
 *
 * @param {Arguments} given
 */
async function provideTests({ tests: filters, longest }) {
  const all = listTestFiles(filters).filter(({ tier }) => tier === "fast");
  const files = all.filter(({ path }) => isWithin(longest, path));
  if (files.length < all.length)
    warn(`Not run, since they take more than ${longest} s: ${all.length - files.length} test files`);
  const provided = await provideBackends([...new Set(files.flatMap(({ backends }) => backends))]);
  const isMissing = (/** @type {string} */ name) => provided.get(name)?.ok === false;
  const left = files.filter(({ backends }) => backends.some(isMissing));
  for (const { path } of left) warn(`Not run, since its backend is missing: ${path}`);
  const env = Object.assign({}, ...[...provided.values()].map((result) => (result.ok ? result.env : {})));
  return { tests: files.filter((file) => !left.includes(file)).map(({ path }) => path), env };
}
