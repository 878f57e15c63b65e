import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../lib/repository.mjs";
import { applied } from "./render.mjs";

/** @typedef {import("./judge.mjs").Verdict} Verdict */
/**
 * @typedef {object} Run
 * @property {string} name
 * @property {number} seed
 * @property {number} candidates how many mutants the sources have
 * @property {readonly Verdict[]} verdicts
 * @property {number} left how many of the sample did not run
 * @property {readonly { file: string, failure: string }[]} failed test files that fail without a mutant
 * @property {number} seconds
 */

/** @param {Verdict} verdict */
export function isKill({ end }) {
  return end === "killed" || end === "late";
}

/** The share of mutants that the tests notice, in percent. @param {readonly Verdict[]} verdicts */
export function scoreOf(verdicts) {
  return verdicts.length === 0 ? 100 : Math.floor((verdicts.filter(isKill).length / verdicts.length) * 1000) / 10;
}

/** @param {Run["failed"]} failed */
export function describeFailed(failed) {
  return failed.map(({ file, failure }) => `Left out, since it fails without a mutant: ${file}: ${failure}`);
}

/** One line of progress. @param {Verdict} verdict */
export function describeVerdict({ mutant, end, by, files }) {
  const { id, file, line, operator, change } = mutant;
  return `${String(id).padStart(4)} ${end.padEnd(9)} ${operator.padEnd(10)} ${file}:${line}  ${change}${by === "" ? "" : `\n     by ${by}`} (${files})`;
}

/**
 * The survivors and the table.
 *
 * @param {Run} run
 * @param {string} [root] where the sources are
 * @returns {readonly string[]}
 */
export function describe({ name, seed, candidates, verdicts, left, failed, seconds }, root = ROOT) {
  const survivors = verdicts.filter((verdict) => !isKill(verdict));
  const operators = [...new Set(verdicts.map(({ mutant }) => mutant.operator))].toSorted();
  return [
    "",
    ...describeFailed(failed),
    ...survivors.flatMap((verdict) => ["", ...survivorLines(verdict, root)]),
    "",
    row("operator", ["mutants", "killed", "late", "survived", "unreached"]),
    ...operators.map((operator) =>
      row(operator, countsOf(verdicts.filter(({ mutant }) => mutant.operator === operator))),
    ),
    row("all", countsOf(verdicts)),
    "",
    `${name}: ${scoreOf(verdicts)} % of ${verdicts.length} mutants noticed (of ${candidates}, seed ${seed}), in ${seconds} s${left === 0 ? "" : `; ${left} did not run`}`,
  ];
}

/** What `--json` writes, and `--again` reads. @param {Run} run */
export function reportOf({ name, seed, candidates, verdicts, left, failed, seconds }) {
  const plain = (/** @type {Verdict} */ { mutant, end, by }) => {
    const { file, line, operator, change } = mutant;
    return { file, line, operator, change, end, by };
  };
  return {
    name,
    seed,
    candidates,
    seconds,
    score: scoreOf(verdicts),
    left,
    failed,
    survivors: verdicts.filter((verdict) => !isKill(verdict)).map(plain),
    kills: verdicts.filter(isKill).map(plain),
  };
}

/** @param {string} name @param {readonly (string | number)[]} cells */
function row(name, cells) {
  return `${name.padEnd(12)}${cells.map((cell) => String(cell).padStart(10)).join("")}`;
}

/** @param {readonly Verdict[]} verdicts */
function countsOf(verdicts) {
  const count = (/** @type {Verdict["end"]} */ wanted) => verdicts.filter(({ end }) => end === wanted).length;
  return [verdicts.length, count("killed"), count("late"), count("survived"), count("unreached")];
}

/** @param {Verdict} verdict @param {string} root @returns {readonly string[]} */
function survivorLines({ mutant, end, files }, root) {
  const { file, line, operator, change } = mutant;
  const why = end === "unreached" ? "no test reaches it" : `${files} test files passed`;
  return [`${file}:${line} (${operator}; ${why})`, ...diffOf(mutant, root), `  change: ${JSON.stringify(change)}`];
}

const SHOWN_LINES = 8;

/** The lines that the mutant changes. @param {Verdict["mutant"]} mutant @param {string} root @returns {readonly string[]} */
function diffOf(mutant, root) {
  const source = readFileSync(join(root, mutant.file), "utf8");
  const first = mutant.line - 1;
  const last = source.slice(0, mutant.end).split("\n").length;
  const before = source.split("\n").slice(first, last);
  const changed = applied(source, mutant).split("\n");
  const added = changed.length - source.split("\n").length;
  return [...marked("-", before), ...marked("+", changed.slice(first, last + added))];
}

/** @param {string} mark @param {readonly string[]} lines */
function marked(mark, lines) {
  const shown = lines.slice(0, SHOWN_LINES).map((line) => `  ${mark} ${line}`);
  return lines.length > SHOWN_LINES ? [...shown, `  ${mark} …`] : shown;
}
