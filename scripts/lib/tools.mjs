import { join } from "node:path";
import { run } from "./process.mjs";
import { ROOT } from "./repository.mjs";

/** @typedef {import("./process.mjs").RunOptions} RunOptions */

/**
 * Runs a tool of this workspace's devDependencies and keeps its output.
 *
 * @param {string} name
 * @param {readonly string[]} args
 * @param {RunOptions} [options]
 */
export function tool(name, args, options = {}) {
  return run(join(ROOT, "node_modules/.bin", name), args, { quiet: true, ...options });
}

/**
 * Runs steps until one fails.
 *
 * @param {readonly (() => Promise<{ ok: boolean, output: string }>)[]} steps
 * @returns {Promise<{ ok: boolean, output: string }>} of the last one that ran
 */
export async function inOrder(steps) {
  let result = { ok: true, output: "" };
  for (const step of steps) {
    result = await step();
    if (!result.ok) return result;
  }
  return result;
}
