import { inOrder, tool } from "../lib/tools.mjs";

export function checkFormat() {
  return tool("oxfmt", ["--check"]);
}

/** Checks packages, tests and these scripts, each with a separate configuration. */
export function checkTypes() {
  return inOrder([
    () => tool("tsc", ["-b"]),
    () => tool("tsc", ["-b", "tsconfig.test.json"]),
    () => tool("tsc", ["-p", "scripts"]),
    () => tool("tsc", ["-p", "site"]),
  ]);
}

/** Type-aware, so that it finds floating promises. */
export function checkLint() {
  return tool("oxlint", ["--type-aware", "--deny-warnings"]);
}

export function checkUnused() {
  return tool("knip", ["--no-progress", "--no-config-hints"]);
}
