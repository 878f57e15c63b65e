import { run } from "./process.mjs";
import { readJson } from "./repository.mjs";

/**
 * Runs the version of pnpm that package.json pins. npx fetches it, since corepack is no longer part of Node.
 *
 * @param {readonly string[]} args
 * @param {import("./process.mjs").RunOptions} [options]
 */
export function pnpm(args, options = {}) {
  const pinned = readJson("package.json").packageManager;
  // Without CI=true, pnpm asks before it replaces node_modules, and this process has no standard input.
  return run("npx", ["-y", pinned, ...args], { ...options, env: { CI: "true", ...options.env } });
}
