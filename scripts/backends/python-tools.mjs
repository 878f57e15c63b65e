import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findProgram, run } from "../lib/process.mjs";
import { cacheFolder } from "../lib/repository.mjs";
import { say } from "../lib/say.mjs";
import { installDebianPackages } from "./apt.mjs";

/**
 * Programs that come as Python wheels, in a virtual environment with exactly the wheels of a requirements file.
 *
 * @typedef {object} PythonTools
 * @property {string} what for people
 * @property {string} folder name in the cache folder
 * @property {string} requirements path of a requirements file. Its hashes are for the Linux x86-64 wheels
 * @property {readonly string[]} pythons names of the interpreter
 * @property {string} test Python expression that is true for a version that fits
 * @property {string} needs the version that fits, in words
 */

/** Installs the wheels unless exactly these are installed. If something is missing, the error says what. @param {PythonTools} tools */
export async function providePythonTools({ what, folder: name, requirements, pythons, test, needs }) {
  const folder = join(cacheFolder(), name);
  const venv = join(folder, "venv");
  const python = join(venv, "bin/python");
  const marker = join(folder, "installed-from");
  const digest = createHash("sha256").update(readFileSync(requirements)).digest("hex");
  if (existsSync(python) && existsSync(marker) && readFileSync(marker, "utf8") === digest) return;
  const base = await findPython(pythons, test);
  if (base === undefined) throw new Error(`${what} needs ${needs}, but none of ${pythons.join(", ")} is that`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });

  say(`Installing ${what} into a virtual environment`);
  /** @param {string} command @param {readonly string[]} args */
  const must = async (command, args) => {
    const { ok, output } = await run(command, args, { quiet: true, env: { PYTHONDONTWRITEBYTECODE: "" } });
    if (!ok) throw new Error(`${what} could not be installed:\n${output}`);
  };
  // On Debian, `venv` needs a separate package.
  const hasVenv = await run(base, ["-c", "import ensurepip"], { quiet: true });
  if (!hasVenv.ok) await installDebianPackages(["python3-venv"]);
  await must(base, ["-m", "venv", venv]);
  // Let pip compile bytecode while it installs. Without it, each start of a Python program takes seconds longer.
  const args = [
    "-m",
    "pip",
    "install",
    "--quiet",
    "--disable-pip-version-check",
    "--no-deps",
    "--only-binary",
    ":all:",
  ];
  await must(python, [...args, ...requirementArguments(folder, requirements)]);
  writeFileSync(marker, digest);
}

/**
 * On other platforms the same versions have other wheels, with other hashes.
 *
 * @param {string} folder
 * @param {string} requirements
 */
function requirementArguments(folder, requirements) {
  if (process.platform === "linux" && process.arch === "x64") return ["--require-hashes", "-r", requirements];
  const versions = join(folder, "requirements.txt");
  writeFileSync(versions, readFileSync(requirements, "utf8").replaceAll(/ --hash=\S+/g, ""));
  return ["-r", versions];
}

/** @param {readonly string[]} names @param {string} test */
async function findPython(names, test) {
  for (const name of names) {
    const path = findProgram(name);
    if (path === undefined) continue;
    const { ok, output } = await run(path, ["-c", `import sys; print(${test})`], { quiet: true });
    if (ok && output.trim() === "True") return path;
  }
  return undefined;
}
