import { parseArgs } from "node:util";
import { say } from "./say.mjs";

/**
 * Reads the arguments of a command. With one that the command does not know, it prints the usage and ends the program, before
 * anything is installed or written.
 *
 * @template {import("node:util").ParseArgsConfig} T
 * @param {string} usage what follows `npm run`
 * @param {T} config
 * @returns {ReturnType<typeof parseArgs<T>>}
 */
export function readCommandLine(usage, config) {
  try {
    return parseArgs(config);
  } catch (error) {
    // What follows the first sentence is about arguments that begin with a dash. No command has these.
    const [problem] = (error instanceof Error ? error.message : String(error)).split(". ");
    refuse(usage, problem ?? "");
  }
}

/**
 * Prints what is wrong with the arguments, and ends the program.
 *
 * @param {string} usage what follows `npm run`
 * @param {string} problem
 * @returns {never}
 */
export function refuse(usage, problem) {
  say(`${problem}\nUsage: npm run ${usage}`);
  process.exit(2);
}
