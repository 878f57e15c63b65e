import { findProgram, run } from "../lib/process.mjs";
import { say, sayOutput, secondsSince } from "../lib/say.mjs";

/** apt asks no questions, installs no recommended packages, and waits for another apt that is running. */
const OPTIONS = ["-y", "-qq", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=120"];
const ENVIRONMENT = { DEBIAN_FRONTEND: "noninteractive" };

/**
 * Installs Debian packages if this process runs as root and has apt, unless `SIGNPOST_APT=no`. A failure does not stop it. The
 * caller checks what is still missing.
 *
 * @param {readonly string[]} packages
 */
export async function installDebianPackages(packages) {
  if (packages.length === 0 || !mayInstall()) return;
  const started = performance.now();
  say(`Installing Debian packages: ${packages.join(" ")}`);
  await run("apt-get", ["update", "-qq"], { quiet: true, env: ENVIRONMENT });
  const together = await install(packages);
  // If the release lacks one package, install the others.
  if (!together.ok) for (const name of packages) await install([name]);
  if (!together.ok) sayOutput(together.output);
  say(`Installed Debian packages in ${secondsSince(started)}`);
}

/** @param {readonly string[]} packages */
function install(packages) {
  return run("apt-get", ["install", ...OPTIONS, ...packages], { quiet: true, env: ENVIRONMENT });
}

function mayInstall() {
  return process.getuid?.() === 0 && findProgram("apt-get") !== undefined && process.env["SIGNPOST_APT"] !== "no";
}
