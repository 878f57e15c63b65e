import { inOrder, tool } from "../lib/tools.mjs";

export function checkFormat() {
  return tool("oxfmt", ["--check"]);
}

/** Packages, tests and these scripts, each with its own configuration. */
export function checkTypes() {
  return inOrder([
    () => tool("tsc", ["-b"]),
    () => tool("tsc", ["-b", "tsconfig.test.json"]),
    () => tool("tsc", ["-p", "scripts"]),
  ]);
}

/** Type-aware, so that it finds promises that nobody waits for. */
export function checkLint() {
  return tool("oxlint", ["--type-aware", "--deny-warnings"]);
}

export function checkUnused() {
  return tool("knip", ["--no-progress", "--no-config-hints"]);
}
