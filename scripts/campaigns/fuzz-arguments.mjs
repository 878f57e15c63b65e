import { existsSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { problemOf } from "../lib/command-line.mjs";

/**
 * @typedef {object} FuzzArguments
 * @property {readonly string[]} targets none: all
 * @property {number} seed
 * @property {number} [cases] for each target
 * @property {number} [minutes] for all targets together
 * @property {string} [input] hexadecimal digits
 */

/**
 * Reads the arguments before anything is installed.
 *
 * @param {readonly string[]} args
 * @param {readonly string[]} known names of targets
 * @returns {FuzzArguments | { problem: string }}
 */
export function readFuzzArguments(args, known) {
  try {
    return readChecked(args, known);
  } catch (error) {
    return { problem: problemOf(error) };
  }
}

/** @param {readonly string[]} args @param {readonly string[]} known @returns {FuzzArguments} */
function readChecked(args, known) {
  const { values, positionals: targets } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      seed: { type: "string" },
      cases: { type: "string" },
      minutes: { type: "string" },
      input: { type: "string" },
    },
  });
  const unknown = targets.filter((target) => !known.includes(target));
  if (unknown.length > 0) throw new Error(`Unknown target: ${unknown.join(", ")}. Known targets: ${known.join(", ")}`);
  return {
    targets,
    seed: values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : numberOf("seed", values.seed, 0),
    ...(values.cases !== undefined && { cases: numberOf("cases", values.cases, 1) }),
    ...(values.minutes !== undefined && { minutes: numberOf("minutes", values.minutes, 1) }),
    ...(values.input !== undefined && { input: hexOf(values.input) }),
  };
}

/** @param {string} option @param {string} text @param {number} least */
function numberOf(option, text, least) {
  if (/^\d{1,10}$/.test(text) && Number(text) >= least) return Number(text);
  throw new Error(`--${option} must be a whole number, at least ${least}: ${text}`);
}

/** The hexadecimal digits of an input. @param {string} input */
function hexOf(input) {
  if (existsSync(input)) return readFileSync(input).toString("hex");
  if (/^(?:[0-9a-f]{2})*$/i.test(input)) return input;
  throw new Error("--input must be hexadecimal digits, or the path of a file");
}
