import { BACKENDS, provideBackends } from "../../backends.mjs";
import { warn } from "../../lib/say.mjs";
import { ROWS } from "./rows.mjs";
import { runRow } from "./run-row.mjs";

/** @typedef {import("./projects.mjs").Project} Project */

/** Most of the time a program waits: for a limit that must pass, or for its backend. */
const AT_A_TIME = 6;

/**
 * Runs every row in every project, a few at a time. In CI a missing backend is a failure. Elsewhere its rows are left out, and a line
 * says so.
 *
 * @param {readonly Project[]} projects
 * @param {{ checksSigners: boolean }} options
 * @returns {Promise<string[]>} what is wrong
 */
export async function checkRows(projects, options) {
  const needed = new Set(ROWS.flatMap(({ needs = [] }) => needs));
  const missing = await missingOf([...needed]);
  const rows = ROWS.filter(({ needs = [] }) => needs.every((name) => !missing.names.includes(name)));
  const order = [...rows.filter(({ waits }) => waits === true), ...rows.filter(({ waits }) => waits !== true)];
  const queue = order.flatMap((row) => projects.map((project) => ({ row, project })));
  const problems = [...missing.problems];
  const work = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const { row, project } = next;
      const found = await runRow(row, project, options).catch((error) => [String(error)]);
      problems.push(...found.map((text) => `${row.label} on ${project.runtime}: ${text}`));
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  return problems;
}

/**
 * Provides backends. What is missing is a problem in CI, and a warning elsewhere.
 *
 * @param {readonly string[]} names
 * @returns {Promise<{ names: string[], problems: string[], env: NodeJS.ProcessEnv }>} `names` of the missing ones
 */
export async function missingOf(names) {
  const provided = [...(await provideBackends(names))];
  const missing = provided.filter(([, { ok }]) => !ok).map(([name]) => name);
  const lines = provided.flatMap(([name, result]) =>
    result.ok ? [] : [`Not run: what needs ${name} (${BACKENDS[name]?.what}): ${result.reason}`],
  );
  const isFailure = process.env["CI"] === "true";
  if (!isFailure) for (const line of lines) warn(line);
  const env = Object.assign({}, ...provided.map(([, result]) => (result.ok ? result.env : {})));
  return { names: missing, problems: isFailure ? lines : [], env };
}
