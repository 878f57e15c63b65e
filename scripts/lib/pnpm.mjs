import { run } from "./process.mjs";
import { readJson } from "./repository.mjs";

/**
 * Runs the pnpm that package.json pins, fetched by npx: corepack is no longer part of Node.
 *
 * @param {readonly string[]} args
 * @param {import("./process.mjs").RunOptions} [options]
 */
export function pnpm(args, options = {}) {
  const pinned = readJson("package.json").packageManager;
  // pnpm asks a person before it replaces node_modules, except in CI: nobody is there to answer.
  return run("npx", ["-y", pinned, ...args], { ...options, env: { CI: "true", ...options.env } });
}
