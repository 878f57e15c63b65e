import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../lib/process.mjs";
import { ROOT } from "../lib/repository.mjs";
import { inOrder } from "../lib/tools.mjs";
import { publicPackages } from "../lib/workspace.mjs";
import { prepareConsumer } from "./consumer.mjs";
import { checkRows } from "./runtimes/check-rows.mjs";
import { prepareProject } from "./runtimes/projects.mjs";

/** The supported versions. Every `engines` names the oldest. */
export const NODE_VERSIONS = [20, 22, 24, 26];

/**
 * Checks the packed packages on one version of Node. It imports each of them, then signs, publishes and verifies. Last, it runs the
 * column of this version in docs/runtimes.md, without the checks for signers, which the tests run.
 *
 * @param {number} major
 */
export async function checkNodeVersion(major) {
  const consumer = await prepareConsumer().catch(() => undefined);
  if (consumer === undefined) return { ok: false, output: "Packing or installing the packages failed: see above" };
  const { folder } = consumer;
  const names = publicPackages().flatMap(({ entryPoints }) => entryPoints);
  copyFileSync(join(ROOT, "scripts/gates/consumer-smoke.mjs"), join(folder, "smoke.mjs"));
  writeFileSync(join(folder, "require.cjs"), names.map((name) => `require("${name}");`).join("\n"));
  return inOrder([
    () => runNode(major, ["smoke.mjs", String(major), ...names], folder),
    // Every supported version can `require` an ES module by default.
    () => runNode(major, ["require.cjs"], folder),
    () => checkColumn(major, folder),
  ]);
}

/** @param {number} major @param {string} folder */
async function checkColumn(major, folder) {
  const found = await runNode(major, ["--print", "process.execPath"], folder);
  if (!found.ok) return found;
  prepareProject(folder);
  const project = { runtime: `node${major}`, command: [found.output.trim()], folder };
  const problems = await checkRows([project], { checksSigners: false });
  return { ok: problems.length === 0, output: problems.join("\n") };
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
