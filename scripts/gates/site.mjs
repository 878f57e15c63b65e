import { run } from "../lib/process.mjs";

/** Builds the documentation site, and checks its links, its navigation and its reference. */
export function checkSite() {
  return run(process.execPath, ["site/src/build.mjs", ".tmp/site-gate"], { quiet: true });
}
