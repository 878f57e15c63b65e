import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { nativeBuildEnvironment } from "./node-headers.mjs";
import { pnpm } from "./pnpm.mjs";
import { lockfileDigest, ROOT } from "./repository.mjs";
import { say, sayOutput, secondsSince } from "./say.mjs";

const MARKER = join(ROOT, "node_modules/.signpost-install.json");

/** pnpm's arguments for each scope. The demo leaves out every tool and SDK that it does not use. */
const SCOPES = {
  demo: ["--prod", "--filter", "signpost", "--filter-prod", "{./examples/demo}..."],
  full: [],
};

/**
 * @typedef {keyof typeof SCOPES} Scope
 * @typedef {{ lockfile: string, scope: Scope }} Marker
 */

/**
 * Installs the dependencies of a scope, unless they are installed. Never reduces a full installation.
 *
 * @param {Scope} wanted
 * @returns {Promise<boolean>} false if it failed. pnpm's output is shown
 */
export async function installDependencies(wanted) {
  const lockfile = lockfileDigest();
  const before = readMarker();
  const scope = wanted === "full" || hasEverything() ? "full" : "demo";
  if (before?.lockfile === lockfile && before.scope === scope) return true;

  const started = performance.now();
  say(`Installing dependencies (${scope === "full" ? "all" : "only for the demo"})`);
  // An interrupted installation must not look complete.
  rmSync(MARKER, { force: true });
  const { ok, output } = await pnpm(["install", "--frozen-lockfile", ...SCOPES[scope]], {
    quiet: true,
    env: await nativeBuildEnvironment(),
  });
  if (!ok) {
    sayOutput(output);
    return false;
  }
  writeMarker({ lockfile, scope });
  say(`Installed in ${secondsSince(started)}`);
  return true;
}

/** The demo's scope has no test runner. This also works after pnpm was called by hand. */
function hasEverything() {
  return existsSync(join(ROOT, "node_modules/vitest"));
}

/** @returns {Marker | undefined} */
function readMarker() {
  return existsSync(MARKER) ? JSON.parse(readFileSync(MARKER, "utf8")) : undefined;
}

/** @param {Marker} marker */
function writeMarker(marker) {
  mkdirSync(join(ROOT, "node_modules"), { recursive: true });
  writeFileSync(MARKER, `${JSON.stringify(marker)}\n`);
}
