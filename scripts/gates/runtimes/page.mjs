import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../lib/repository.mjs";
import { ROWS } from "./rows.mjs";

/** The page with what runs where. */
export const PAGE = "docs/runtimes.md";

/**
 * The columns of the table, by the names of the runtimes.
 *
 * @param {readonly number[]} nodes
 * @param {Readonly<Record<string, string>>} others versions by name
 * @returns {Record<string, string>}
 */
export function columnsOf(nodes, { deno = "", bun = "" }) {
  const short = (/** @type {string} */ version) => version.split(".").slice(0, 2).join(".");
  const columns = nodes.map((major) => [`node${major}`, `Node ${major}`]);
  return { ...Object.fromEntries(columns), deno: `Deno ${short(deno)}`, bun: `Bun ${short(bun)}` };
}

/**
 * What is wrong with the table: it must have a cell for each row and runtime, which says that it runs, and links to a limit where
 * there is one.
 *
 * @param {Readonly<Record<string, string>>} columns
 * @param {string} [text]
 * @returns {string[]}
 */
export function pageProblems(columns, text = readFileSync(join(ROOT, PAGE), "utf8")) {
  const lines = text.split("\n").filter((line) => line.startsWith("| "));
  const start = lines.findIndex((line) => line.startsWith("| package |"));
  const [head = [], , ...rows] = lines.slice(start).map((line) => line.slice(2, -2).split(" | "));
  const names = Object.entries(columns);
  const expected = ["package", ...names.map(([, title]) => title)];
  if (String(head) !== String(expected)) return [`${PAGE}: the columns must be ${expected.join(" | ")}`];
  const labels = rows.slice(0, ROWS.length).map(([label]) => label);
  if (String(labels) !== String(ROWS.map(({ label }) => label))) {
    return [`${PAGE}: the rows must be ${ROWS.map(({ label }) => label).join(", ")}`];
  }
  return ROWS.flatMap(({ label, limited = [] }, row) =>
    names.flatMap(([runtime, title], column) => {
      const cell = rows[row]?.[column + 1] ?? "";
      const wanted = limited.includes(runtime) ? /^runs, \[.+\]\(#.+\)$/ : /^runs$/;
      const what = limited.includes(runtime) ? "runs, [limit](#…)" : "runs";
      return wanted.test(cell) ? [] : [`${PAGE}: ${label}, ${title} must be "${what}", not "${cell}"`];
    }),
  );
}
