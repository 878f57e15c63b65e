import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { problemOf } from "../lib/command-line.mjs";
import { ROOT } from "../lib/repository.mjs";
import { OPERATORS } from "./operators.mjs";

/**
 * @typedef {object} Arguments
 * @property {string} name the folder below `packages`
 * @property {number} sample how many mutants run
 * @property {number} seed chooses them. The same seed chooses the same mutants of the same sources
 * @property {readonly string[]} files parts of paths. Only sources whose path contains one of them. Empty: all
 * @property {readonly string[]} operators
 * @property {readonly string[]} tests parts of paths of tests. Default: the package's own
 * @property {number} longest how many seconds a test file may take to be run. Infinity: all run
 * @property {number} minutes after so many no other mutant begins. Infinity: all run
 * @property {string | undefined} again a report. Only the mutants that survived in it
 * @property {string | undefined} json where the report is written
 * @property {number} least the score in percent below which the command fails
 */

/**
 * @param {readonly string[]} args
 * @returns {Arguments | { problem: string }}
 */
export function readArguments(args) {
  try {
    return readChecked(args);
  } catch (error) {
    return { problem: problemOf(error) };
  }
}

/** @param {readonly string[]} args @returns {Arguments} */
function readChecked(args) {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      sample: { type: "string", default: "40" },
      seed: { type: "string", default: "1" },
      file: { type: "string", multiple: true, default: [] },
      operators: { type: "string", default: OPERATORS.join(",") },
      tests: { type: "string", default: "" },
      longest: { type: "string" },
      minutes: { type: "string" },
      again: { type: "string" },
      json: { type: "string" },
      least: { type: "string", default: "0" },
    },
  });
  const [name = "", ...rest] = positionals.map((each) => each.replace(/^packages\/|\/$/g, ""));
  if (name === "" || rest.length > 0) throw new Error("Name one package");
  if (!existsSync(join(ROOT, "packages", name, "src"))) throw new Error(`There is no packages/${name}/src`);
  const operators = listOf(values.operators);
  const unknown = operators.filter((each) => !OPERATORS.includes(each));
  if (unknown.length > 0)
    throw new Error(`Unknown operator: ${unknown.join(", ")}. Known operators: ${OPERATORS.join(", ")}`);
  const tests = listOf(values.tests);
  return {
    name,
    sample: wholeNumber("sample", values.sample),
    seed: wholeNumber("seed", values.seed),
    files: values.file,
    operators,
    tests: tests.length > 0 ? tests : [`packages/${name}/test/`],
    longest: limit("longest", values.longest),
    minutes: limit("minutes", values.minutes),
    again: values.again,
    json: values.json,
    least: wholeNumber("least", values.least),
  };
}

/** @param {string} text */
function listOf(text) {
  return text.split(",").filter((each) => each !== "");
}

/** @param {string} option @param {string | undefined} text */
function limit(option, text) {
  return text === undefined ? Infinity : wholeNumber(option, text);
}

/** @param {string} option @param {string} text */
function wholeNumber(option, text) {
  if (!/^\d{1,9}$/.test(text)) throw new Error(`--${option} must be a whole number: ${text}`);
  return Number(text);
}
