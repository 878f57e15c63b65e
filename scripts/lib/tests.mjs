import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { BACKENDS, provideBackends } from "../backends.mjs";
import { build } from "./build.mjs";
import { run } from "./process.mjs";
import { ROOT, scratchFolder } from "./repository.mjs";
import { say, warn } from "./say.mjs";
import { listTestFiles } from "./test-files.mjs";

/** Vitest's report on the last run. */
export const RESULTS = join(scratchFolder("tests"), "results.json");

/** @typedef {import("./test-files.mjs").TestFile} TestFile */
/** @typedef {import("./test-files.mjs").Tier} Tier */
/** @typedef {{ tier: Tier, passed: number, failed: number, lines: string[] }} Outcome `lines`: lines that the summary must show */

/**
 * The tier that the arguments of `npm test` select, and the arguments for vitest.
 *
 * @param {readonly string[]} args
 * @returns {{ tier: Tier, rest: readonly string[] }}
 */
export function readTier(args) {
  return { tier: args.includes("--soak") ? "soak" : "fast", rest: args.filter((arg) => arg !== "--soak") };
}

/**
 * Provides the backends of the chosen tests, compiles, and runs vitest without the files whose backends are unavailable. In CI a
 * missing backend is a failure, so that skipped tests do not go unnoticed.
 *
 * @param {Tier} tier
 * @param {readonly string[]} [args] passed on to vitest
 * @returns {Promise<Outcome>}
 */
export async function runTests(tier, args = []) {
  const files = listTestFiles(pathFilters(args)).filter((file) => file.tier === tier);
  const unknown = files.filter((file) => file.backends.some((name) => !(name in BACKENDS)));
  const known = files.filter((file) => !unknown.includes(file));
  const provided = await provideBackends([...new Set(known.flatMap((file) => file.backends))]);

  const left = known.filter((file) => file.backends.some((name) => provided.get(name)?.ok === false));
  const missing = [...new Set(left.flatMap((file) => file.backends))].filter((name) => !provided.get(name)?.ok);
  const lines = [
    ...unknown.map(
      (file) => `Not run: ${file.path}. Its name contains a backend that scripts/backends.mjs does not have`,
    ),
    ...missing.flatMap((name) => describeMissing(name, provided, left)),
  ];
  for (const line of lines) warn(line);

  // Tests run worker threads and programs from their published files, so these must be built.
  const built = await build();
  if (!built) lines.push("Failed: npm run build");
  const env = Object.assign(
    { SIGNPOST_TIER: tier },
    ...[...provided.values()].map((result) => (result.ok ? result.env : {})),
  );
  const excluded = [...unknown, ...left];
  // Vitest would fail if every file is excluded, and that is not a failure here. If no file matches, vitest reports it.
  const isNothingLeft = excluded.length > 0 && excluded.length === files.length;
  const tests = isNothingLeft ? { passed: 0, failed: 0 } : await runVitest(args, { ...env, ...excluding(excluded) });

  const missingFailures = process.env["CI"] === "true" ? missing.length : 0;
  if (missingFailures > 0) lines.push(`With CI=true each missing backend is a failure: ${missing.join(", ")}`);
  return {
    tier,
    passed: tests.passed,
    failed: tests.failed + unknown.length + missingFailures + (built ? 0 : 1),
    lines,
  };
}

/**
 * A line for the summary about the soak files that the same arguments match, so that no file is skipped silently.
 *
 * @param {readonly string[]} args
 * @returns {string | undefined}
 */
export function describeSoaks(args) {
  const soaks = listTestFiles(pathFilters(args)).filter((file) => file.tier === "soak").length;
  if (soaks === 0) return undefined;
  const command = ["npm test -- --soak", ...args.map((arg) => (/^[\w./=@-]+$/.test(arg) ? arg : JSON.stringify(arg)))];
  return `Not run: ${soaks} soak ${soaks === 1 ? "file" : "files"}. To run: ${command.join(" ")}`;
}

/** Options whose value is the next argument. */
const WITH_VALUE = new Set(["-t", "--testNamePattern", "--reporter", "--shard", "--maxWorkers"]);

/** The arguments that filter files. @param {readonly string[]} args */
function pathFilters(args) {
  return args.filter((arg, index) => !arg.startsWith("-") && !WITH_VALUE.has(args[index - 1] ?? ""));
}

/**
 * @param {string} name
 * @param {ReadonlyMap<string, import("../backends.mjs").Provided>} provided
 * @param {readonly TestFile[]} left
 */
function describeMissing(name, provided, left) {
  const result = provided.get(name);
  const reason = result?.ok === false ? result.reason : "";
  const paths = left.filter((file) => file.backends.includes(name)).map((file) => `\n    ${file.path}`);
  return [`Missing backend ${name} (${BACKENDS[name]?.what}): ${reason}\n  These tests did not run:${paths.join("")}`];
}

/** For vitest.config.ts, because the projects of vitest ignore `--exclude`. @param {readonly TestFile[]} files */
function excluding(files) {
  return { SIGNPOST_EXCLUDE: JSON.stringify(files.map((file) => file.path)) };
}

/**
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} env
 */
async function runVitest(args, env) {
  rmSync(RESULTS, { force: true });
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${RESULTS}`];
  const vitest = join(ROOT, "node_modules/vitest/vitest.mjs");
  // Vitest would also write colors into a file.
  const plain = process.stdout.isTTY ? {} : { NO_COLOR: "1" };
  const { ok } = await run(process.execPath, [vitest, "run", ...reporters, ...args], { env: { ...plain, ...env } });
  const { passed, failed } = existsSync(RESULTS) ? countTests(RESULTS) : { passed: 0, failed: 0 };
  // An unhandled rejection, or a file that does not load, fails the run but no test.
  return { passed, failed: ok ? failed : Math.max(failed, 1) };
}

/** @param {string} report */
function countTests(report) {
  const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, "utf8"));
  return { passed: Number(numPassedTests), failed: Number(numFailedTests) };
}

/** @param {Outcome} outcome */
export function sayTests(outcome) {
  for (const line of outcome.lines) warn(line);
  say(`${outcome.tier === "soak" ? "Soak tests" : "Tests"}: ${outcome.passed} passed, ${outcome.failed} failed`);
}
