import { RUNTIME_VERSIONS } from "../backends/runtime.mjs";
import { prepareTarballs } from "./consumer.mjs";
import { NODE_VERSIONS } from "./node-matrix.mjs";
import { checkRows, missingOf } from "./runtimes/check-rows.mjs";
import { columnsOf, pageProblems } from "./runtimes/page.mjs";
import { installProject } from "./runtimes/projects.mjs";
import { serveTarballs } from "./runtimes/registry.mjs";

/** @type {readonly ("bun" | "deno")[]} */
const RUNTIMES = ["bun", "deno"];

/**
 * Checks the packed packages on Bun and on Deno, where their own package managers install them: every cell of their columns in
 * docs/runtimes.md. The gates of Node check the other columns.
 */
export async function checkRuntimes() {
  const problems = pageProblems(columnsOf(NODE_VERSIONS, RUNTIME_VERSIONS));
  const missing = await missingOf(RUNTIMES);
  problems.push(...missing.problems);
  const registry = await serveTarballs(await prepareTarballs());
  try {
    const projects = [];
    for (const runtime of RUNTIMES) {
      const program = missing.env[`SIGNPOST_${runtime.toUpperCase()}`];
      if (program !== undefined) projects.push(await installProject(runtime, program, registry.url));
    }
    problems.push(...(await checkRows(projects, { checksSigners: true })));
  } finally {
    registry.close();
  }
  return { ok: problems.length === 0, output: problems.join("\n") };
}
