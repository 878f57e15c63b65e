import { parseArgs } from "node:util";
import { problemOf } from "../lib/command-line.mjs";

/**
 * Reads the arguments before anything is installed or compiled. The campaign itself knows the kinds of fault.
 *
 * @param {readonly string[]} args
 * @param {readonly string[]} known names of backends
 * @returns {{ names: readonly string[], options: readonly string[], publish: boolean } | { problem: string }}
 */
export function readFaultArguments(args, known) {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        seed: { type: "string" },
        tokens: { type: "string" },
        only: { type: "string" },
        publish: { type: "boolean", default: false },
      },
    });
    const unknown = positionals.filter((name) => !known.includes(name));
    if (unknown.length > 0) {
      return { problem: `Unknown backend: ${unknown.join(", ")}. Known backends: ${known.join(", ")}` };
    }
    requireWholeNumber("--seed", values.seed, 0, 2 ** 32 - 1);
    requireWholeNumber("--tokens", values.tokens, 1, 10_000_000);
    const { publish, ...rest } = values;
    const options = Object.entries(rest).map(([name, value]) => `--${name}=${value}`);
    return { names: [...new Set(positionals)], options, publish };
  } catch (error) {
    return { problem: problemOf(error) };
  }
}

/** @param {string} option @param {string | undefined} text @param {number} least @param {number} most */
function requireWholeNumber(option, text, least, most) {
  if (text === undefined || (/^\d{1,10}$/.test(text) && Number(text) >= least && Number(text) <= most)) return;
  throw new Error(`${option} must be a whole number from ${least} to ${most}: ${text}`);
}
