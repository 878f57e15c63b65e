import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { installDebianPackages } from "./backends/apt.mjs";
import { findProgram, run } from "./lib/process.mjs";
import { cacheFolder, ROOT } from "./lib/repository.mjs";
import { say } from "./lib/say.mjs";

// LocalStack's KMS without Docker: a Python 3.11 virtual environment with exactly the wheels in the
// requirements file. 4.8.1 is the last version of LocalStack that runs on Python 3.11 and needs no account.

const REQUIREMENTS = join(ROOT, "test/backends/localstack-requirements.txt");
const PYTHONS = ["python3.11", "python3", "python"];

/** Installs LocalStack unless the versions in the requirements file are installed. If something is missing, the error says what. */
export async function provideLocalstack() {
  const { folder, venv, python, marker } = places();
  const digest = createHash("sha256").update(readFileSync(REQUIREMENTS)).digest("hex");
  if (existsSync(python) && existsSync(marker) && readFileSync(marker, "utf8") === digest) return;
  const base = await findPython();
  if (base === undefined)
    throw new Error(`LocalStack 4.8 needs Python 3.11, but none of ${PYTHONS.join(", ")} is version 3.11`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });

  say("Installing LocalStack into a virtual environment");
  // On Debian, `venv` needs a separate package.
  const hasVenv = await run(base, ["-c", "import ensurepip"], { quiet: true });
  if (!hasVenv.ok) await installDebianPackages(["python3-venv"]);
  await must(base, ["-m", "venv", venv]);
  // Let pip compile bytecode while it installs. Without it, each start takes two seconds longer.
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
  await must(python, [...args, ...requirementArguments(folder)]);
  writeFileSync(marker, digest);
}

/**
 * The hashes are for the Linux x86-64 wheels. On other platforms the same versions have other wheels.
 * @param {string} folder
 */
function requirementArguments(folder) {
  if (process.platform === "linux" && process.arch === "x64") return ["--require-hashes", "-r", REQUIREMENTS];
  const versions = join(folder, "requirements.txt");
  writeFileSync(versions, readFileSync(REQUIREMENTS, "utf8").replaceAll(/ --hash=\S+/g, ""));
  return ["-r", versions];
}

async function findPython() {
  for (const name of PYTHONS) {
    const path = findProgram(name);
    if (path === undefined) continue;
    const { ok, output } = await run(path, ["-c", "import sys; print(sys.version_info[:2] == (3, 11))"], {
      quiet: true,
    });
    if (ok && output.trim() === "True") return path;
  }
  return undefined;
}

/**
 * @param {string} command
 * @param {readonly string[]} args
 */
async function must(command, args) {
  const { ok, output } = await run(command, args, { quiet: true, env: { PYTHONDONTWRITEBYTECODE: "" } });
  if (!ok) throw new Error(`LocalStack could not be installed:\n${output}`);
}

function places() {
  const folder = join(cacheFolder(), "localstack");
  const venv = join(folder, "venv");
  return { folder, venv, python: join(venv, "bin/python"), marker: join(folder, "installed-from") };
}
