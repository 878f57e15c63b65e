import { existsSync } from "node:fs";
import { join } from "node:path";
import { treeOf } from "./installed.mjs";
import { INSTALL_SCRIPTS } from "./reasons.mjs";

/** @typedef {import("./installed.mjs").Installed} Installed */

const LIFECYCLE = ["preinstall", "install", "postinstall"];

/**
 * Which packages run a script when a user installs a published package, although they may not. Walks everything that the
 * published packages need, peers included.
 *
 * @param {readonly { kind: string, installed: Installed }[]} dependencies
 * @param {readonly Installed[]} published
 * @param {Readonly<Record<string, string>>} [known] the packages that may have a script, if only a peer brings them
 */
export function installScriptProblems(dependencies, published, known = INSTALL_SCRIPTS) {
  /** @param {{ kind: string }} dependency */
  const isForced = ({ kind }) => kind === "dependency";
  const forced = namesWithScript(dependencies.filter(isForced));
  const chosen = namesWithScript(dependencies.filter((dependency) => !isForced(dependency)));
  return [
    ...published.filter(runsScript).map(({ manifest: { name } }) => `${name} runs a script when it is installed`),
    ...forced.map((name) => `${name} runs a script, and every user of a published package installs it`),
    ...chosen
      .filter((name) => known[name] === undefined)
      .map((name) => `${name} runs a script when it is installed: explain it in INSTALL_SCRIPTS, or do without it`),
    ...Object.keys(known)
      .filter((name) => !chosen.includes(name))
      .map((name) => `INSTALL_SCRIPTS has ${name}, which does not run a script, or is not needed any more`),
  ];
}

/** @param {readonly { installed: Installed }[]} dependencies @returns {string[]} */
function namesWithScript(dependencies) {
  const all = dependencies.flatMap(({ installed }) => treeOf(installed)).filter(runsScript);
  return [...new Set(all.map(({ manifest }) => manifest.name))];
}

/** npm compiles a package with a binding.gyp even if it has no script. @param {Installed} installed */
function runsScript({ folder, manifest: { scripts = {} } }) {
  return LIFECYCLE.some((name) => scripts[name] !== undefined) || existsSync(join(folder, "binding.gyp"));
}
