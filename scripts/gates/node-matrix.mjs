import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../lib/process.mjs";
import { ROOT } from "../lib/repository.mjs";
import { inOrder } from "../lib/tools.mjs";
import { publicPackages } from "../lib/workspace.mjs";
import { prepareConsumer } from "./consumer.mjs";

/** The versions that are supported: the oldest one is named in every `engines`. */
export const NODE_VERSIONS = [20, 22, 24, 26];

/**
 * The packed packages on one version of Node: each is imported, and one of them signs, publishes and verifies.
 *
 * @param {number} major
 */
export async function checkNodeVersion(major) {
  const consumer = await prepareConsumer().catch(() => undefined);
  if (consumer === undefined) return { ok: false, output: "The packages could not be packed and installed: see above" };
  const { folder } = consumer;
  const names = publicPackages().flatMap(({ entryPoints }) => entryPoints);
  copyFileSync(join(ROOT, "scripts/gates/consumer-smoke.mjs"), join(folder, "smoke.mjs"));
  writeFileSync(join(folder, "require.cjs"), names.map((name) => `require("${name}");`).join("\n"));
  return inOrder([
    () => runNode(major, ["smoke.mjs", String(major), ...names], folder),
    // `require` of an ES module: on by default in every version that is supported.
    () => runNode(major, ["require.cjs"], folder),
  ]);
}

/**
 * @param {number} major
 * @param {readonly string[]} args
 * @param {string} cwd
 */
function runNode(major, args, cwd) {
  const isThisOne = process.version.startsWith(`v${major}.`);
  if (isThisOne) return run(process.execPath, args, { cwd, quiet: true });
  return run("npx", ["-y", "-p", `node@${major}`, "node", ...args], { cwd, quiet: true });
}
