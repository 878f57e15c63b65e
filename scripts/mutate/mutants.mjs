import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { editsAt, OPERATORS } from "./operators.mjs";
import { parse, walk } from "./syntax.mjs";

/** @typedef {import("./syntax.mjs").Node} Node */
/** @typedef {import("./operators.mjs").Edit} Edit */
/** @typedef {{ start: number, end: number }} Range */
/**
 * A fault that can be planted in a source file.
 *
 * @typedef {Edit & { file: string, line: number, change: string, host: Range }} Mutant `file`: relative to the clone. `line`:
 *   from 1. `change`: the line, with the edit in double braces. `host`: the expression that stands there as a whole
 */

/**
 * Every mutant of a package, in the order of its sources.
 *
 * @param {string} root
 * @param {string} folder relative to it
 * @param {{ files?: readonly string[], operators?: readonly string[] }} [wanted] parts of paths, and operators
 * @returns {Promise<readonly Mutant[]>}
 */
export async function mutantsIn(root, folder, { files = [], operators = OPERATORS } = {}) {
  const sources = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".d.ts"))
    .map((name) => join(folder, name))
    .filter((path) => files.length === 0 || files.some((part) => path.includes(part)))
    .toSorted();
  const mutants = sources.map((file) => mutantsOf(file, readFileSync(join(root, file), "utf8"), operators));
  return (await Promise.all(mutants)).flat();
}

/**
 * @param {string} file
 * @param {string} source
 * @param {readonly string[]} [operators]
 * @returns {Promise<readonly Mutant[]>}
 */
export async function mutantsOf(file, source, operators = OPERATORS) {
  /** @type {Mutant[]} */
  const mutants = [];
  walk(await parse(source), (node, around) => {
    for (const edit of editsAt(node, source, around, operators)) {
      const host = hostOf(edit, node, around);
      if (host === undefined) continue;
      const line = source.slice(0, edit.start).split("\n").length;
      mutants.push({ ...edit, file, line, change: changeOf(edit, source), host });
    }
  });
  return mutants;
}

/** Where an edit of a link of `a.b?.c()` takes place: `a.b` alone has another `this`, and does not end the chain. */
const LINKS = /** @type {Record<string, string>} */ ({
  MemberExpression: "object",
  CallExpression: "callee",
  NewExpression: "callee",
  TaggedTemplateExpression: "tag",
  ChainExpression: "expression",
  TSNonNullExpression: "expression",
  // What is written to, or deleted, cannot be chosen by a condition.
  AssignmentExpression: "left",
  UpdateExpression: "argument",
});

/**
 * The range that a choice between the source and its mutant replaces. Undefined if there is none.
 *
 * @param {Edit} edit
 * @param {Node} node
 * @param {readonly Node[]} around
 * @returns {Range | undefined}
 */
function hostOf(edit, node, around) {
  if (edit.of !== undefined) return { start: edit.start, end: edit.end };
  // The edit replaces a child of the node if the node is no expression itself, or the body of a function.
  const isWhole = !node.type.endsWith("Statement") && node.type !== "ArrowFunctionExpression";
  return isWhole ? outermostLink(node, around) : { start: edit.start, end: edit.end };
}

/** @param {Range} inner @param {readonly Node[]} around @returns {Range | undefined} */
function outermostLink(inner, around) {
  const parent = around.at(-1);
  if (parent === undefined) return { start: inner.start, end: inner.end };
  const isDeleted = parent.type === "UnaryExpression" && parent["operator"] === "delete";
  if (isDeleted || parent[LINKS[parent.type] ?? ""] === inner) return outermostLink(parent, around.slice(0, -1));
  if (parent.type.endsWith("Pattern") && parent["right"] !== inner) return undefined;
  if (/^For(?:Of|In)Statement$/.test(parent.type) && parent["left"] === inner) return undefined;
  return { start: inner.start, end: inner.end };
}

/** @param {Edit} edit @param {string} source */
function changeOf({ start, end, text }, source) {
  const before = source.slice(source.lastIndexOf("\n", start - 1) + 1, start).trimStart();
  const rest = source.slice(end).split("\n", 1)[0] ?? "";
  return `${before}{{${firstLine(source.slice(start, end))} => ${firstLine(text)}}}${rest}`.trimEnd();
}

/** @param {string} text */
function firstLine(text) {
  const [first = "", ...others] = text.split("\n");
  return others.length > 0 ? `${first} …` : first;
}
