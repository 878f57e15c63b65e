import { join } from "node:path";
import { run } from "./process.mjs";
import { ROOT } from "./repository.mjs";

/** @typedef {import("./process.mjs").RunOptions} RunOptions */

/**
 * Runs a tool from this workspace's devDependencies, and returns its output.
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
 * @returns {Promise<{ ok: boolean, output: string }>} the result of the last step that ran
 */
export async function inOrder(steps) {
  let result = { ok: true, output: "" };
  for (const step of steps) {
    result = await step();
    if (!result.ok) return result;
  }
  return result;
}

/**
 * Runs two jobs at a time, for machines with two cores. The results are in the order of the jobs.
 *
 * @template T
 * @param {readonly (() => Promise<T>)[]} jobs
 * @returns {Promise<T[]>}
 */
export async function twoAtATime(jobs) {
  /** @type {T[]} */
  const results = [];
  const queue = [...jobs.entries()];
  const work = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) results[next[0]] = await next[1]();
  };
  await Promise.all([work(), work()]);
  return results;
}
