import { parseArgs } from "node:util";
import { say } from "./say.mjs";

/**
 * Reads the arguments of a command. With `--help`, or with one that the command does not know, it prints the usage and ends the program, before
 * anything is installed or written.
 *
 * @template {import("node:util").ParseArgsConfig} T
 * @param {string} usage what follows `npm run`
 * @param {T} config
 * @returns {ReturnType<typeof parseArgs<T>>}
 */
export function readCommandLine(usage, config) {
  offerHelp(usage);
  try {
    return parseArgs(config);
  } catch (error) {
    refuse(usage, problemOf(error));
  }
}

/**
 * With `--help`, prints the usage and ends the program.
 *
 * @param {string} usage what follows `npm run`
 */
export function offerHelp(usage) {
  if (!process.argv.slice(2).some((arg) => arg === "--help" || arg === "-h")) return;
  say(usageOf(usage));
  process.exit(0);
}

/** What is wrong with the arguments, from what their reader threw. @param {unknown} error */
export function problemOf(error) {
  if (!(error instanceof Error)) return String(error);
  // What Node says after its first sentence is about arguments that begin with a dash. No command has these.
  const isNodes = "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");
  return isNodes ? (error.message.split(". ")[0] ?? "") : error.message;
}

/**
 * Prints what is wrong with the arguments, and ends the program.
 *
 * @param {string} usage what follows `npm run`
 * @param {string} problem
 * @returns {never}
 */
export function refuse(usage, problem) {
  say(`${problem}\n${usageOf(usage)}`);
  process.exit(2);
}

/** @param {string} usage */
function usageOf(usage) {
  return `Usage: npm run ${usage}`;
}
