// npm run fuzz [-- TARGET … --seed N --cases N --minutes M --input HEX]: tries random inputs on the parsers, and keeps those that
// reach code or outcomes that no kept input does. `--input` tries one input: hexadecimal digits, or a file.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readCommandLine, refuse } from "./lib/command-line.mjs";
import { fuzzTargets } from "./lib/fuzz-targets.mjs";
import { installDependencies } from "./lib/install.mjs";
import { run } from "./lib/process.mjs";
import { ROOT } from "./lib/repository.mjs";
import { say } from "./lib/say.mjs";

const USAGE = "fuzz [-- TARGET … --seed N --cases N --minutes M --input HEX]";

const { values, positionals: targets } = readCommandLine(USAGE, {
  allowPositionals: true,
  options: {
    seed: { type: "string" },
    cases: { type: "string" },
    minutes: { type: "string" },
    input: { type: "string" },
  },
});

const known = fuzzTargets().toSorted();
const unknown = targets.filter((target) => !known.includes(target));
if (unknown.length > 0) refuse(USAGE, `Unknown target: ${unknown.join(", ")}. Known targets: ${known.join(", ")}`);

const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : numberOf("--seed", values.seed);
const settings = {
  targets,
  seed,
  ...(values.cases !== undefined && { cases: numberOf("--cases", values.cases) }),
  ...(values.minutes !== undefined && { minutes: numberOf("--minutes", values.minutes) }),
  ...(values.input !== undefined && { input: hexOf(values.input) }),
};

if (!(await installDependencies("full"))) process.exit(1);
say(`Fuzzing ${targets.length === 0 ? "all targets" : targets.join(", ")} with the seed ${seed}`);
const vitest = join(ROOT, "node_modules/vitest/vitest.mjs");
const { ok } = await run(process.execPath, [vitest, "run", "--project", "signpost", "test/fuzz/fuzz.test.ts"], {
  env: { SIGNPOST_FUZZ: JSON.stringify(settings) },
});
process.exitCode = ok ? 0 : 1;

/** @param {string} option @param {string} text */
function numberOf(option, text) {
  const number = Number(text);
  if (Number.isFinite(number) && number >= 0) return number;
  refuse(USAGE, `${option}: expected a number, got ${text}`);
}

/** The hexadecimal digits of an input. @param {string} input */
function hexOf(input) {
  if (existsSync(input)) return readFileSync(input).toString("hex");
  if (/^(?:[0-9a-f]{2})*$/i.test(input)) return input;
  refuse(USAGE, "--input: expected hexadecimal digits, or the path of a file");
}
