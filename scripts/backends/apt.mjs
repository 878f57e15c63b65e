import { findProgram, run } from "../lib/process.mjs";
import { say, sayOutput, secondsSince } from "../lib/say.mjs";

/** Nothing is asked and nothing else is pulled in; another apt that runs at the moment is waited for. */
const OPTIONS = ["-y", "-qq", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=120"];
const ENVIRONMENT = { DEBIAN_FRONTEND: "noninteractive" };

/**
 * Installs Debian packages where this process may: as root, with apt, and unless `SIGNPOST_APT=no`. What then
 * is still missing is for the caller to find out, since a failure here is no reason to stop.
 *
 * @param {readonly string[]} packages
 */
export async function installDebianPackages(packages) {
  if (packages.length === 0 || !mayInstall()) return;
  const started = performance.now();
  say(`Installing Debian packages: ${packages.join(" ")}`);
  await run("apt-get", ["update", "-qq"], { quiet: true, env: ENVIRONMENT });
  const together = await install(packages);
  // One package that this release does not have must not take the others with it.
  if (!together.ok) for (const name of packages) await install([name]);
  if (!together.ok) sayOutput(together.output);
  say(`Debian packages done in ${secondsSince(started)}`);
}

/** @param {readonly string[]} packages */
function install(packages) {
  return run("apt-get", ["install", ...OPTIONS, ...packages], { quiet: true, env: ENVIRONMENT });
}

function mayInstall() {
  return process.getuid?.() === 0 && findProgram("apt-get") !== undefined && process.env["SIGNPOST_APT"] !== "no";
}
