import { literalEdits } from "./literals.mjs";

/** @typedef {import("./syntax.mjs").Node} Node */
/**
 * A change of the source.
 *
 * @typedef {object} Edit
 * @property {string} operator
 * @property {number} start
 * @property {number} end
 * @property {string} text what stands there instead
 * @property {"expression" | "statement" | "block"} [of] what is removed as a whole. Default: a part of an expression
 */

const BOUNDARY = mapOf({ "<": "<=", "<=": "<", ">": ">=", ">=": ">" });
const NEGATED = mapOf({
  "<": ">=",
  "<=": ">",
  ">": "<=",
  ">=": "<",
  "===": "!==",
  "!==": "===",
  "==": "!=",
  "!=": "==",
});
const ARITHMETIC = mapOf({
  "+": "-",
  "-": "+",
  "*": "/",
  "/": "*",
  "%": "*",
  "&": "|",
  "|": "&",
  "^": "&",
  "<<": ">>",
  ">>": "<<",
  ">>>": "<<",
});
const ASSIGNMENT = mapOf({
  "+=": "-=",
  "-=": "+=",
  "*=": "/=",
  "/=": "*=",
  "??=": "=",
  "||=": "=",
  "&&=": "=",
});
/** Methods that have an opposite. */
const OPPOSITES = mapOf({
  some: "every",
  every: "some",
  startsWith: "endsWith",
  endsWith: "startsWith",
  min: "max",
  max: "min",
  floor: "ceil",
  ceil: "floor",
  push: "unshift",
  unshift: "push",
  shift: "pop",
  pop: "shift",
});
/** Methods whose result can be replaced with what they were called on. */
const TRANSFORMS = new Set([
  "filter",
  "flat",
  "reverse",
  "slice",
  "sort",
  "subarray",
  "toLowerCase",
  "toReversed",
  "toSorted",
  "toUpperCase",
  "trim",
]);

/**
 * The edits of each operator at a node.
 *
 * @type {Readonly<Record<string, (node: Node, source: string, around: readonly Node[]) => readonly Edit[]>>}
 */
const EDITS = {
  boundary: (node, source) =>
    node.type === "BinaryExpression" ? operatorEdits("boundary", BOUNDARY, node, source) : [],
  negate: (node, source) => {
    if (node.type === "BinaryExpression") return operatorEdits("negate", NEGATED, node, source);
    if (node.type === "UnaryExpression" && node["operator"] === "!")
      return [replaced("negate", node, alone(node["argument"], source))];
    return [];
  },
  condition: (node) => {
    const { type, test } = node;
    if (test === null || test === undefined || test.type === "Literal") return [];
    if (type === "IfStatement" || type === "ConditionalExpression")
      return ["true", "false"].map((text) => replaced("condition", test, text));
    // A loop that never ends says nothing about the tests.
    return /^(?:While|DoWhile|For)Statement$/.test(type) ? [replaced("condition", test, "false")] : [];
  },
  operand: (node, source) =>
    node.type === "LogicalExpression"
      ? [node["left"], node["right"]].map((side) => replaced("operand", node, alone(side, source)))
      : [],
  arithmetic: (node, source) => {
    if (node.type === "BinaryExpression")
      return isConcatenation(node) ? [] : operatorEdits("arithmetic", ARITHMETIC, node, source);
    if (node.type === "AssignmentExpression") return operatorEdits("arithmetic", ASSIGNMENT, node, source);
    if (node.type !== "UpdateExpression") return [];
    const [one, other] = node["operator"] === "++" ? ["++", "--"] : ["--", "++"];
    return [replaced("arithmetic", node, textOf(node, source).replace(one, other))];
  },
  statement: (node) => {
    if (node.type === "ExpressionStatement") return isRemovable(node) ? [removed("statement", node)] : [];
    if (node.type === "ReturnStatement") return node["argument"] === null ? [removed("statement", node)] : [];
    return /^(?:Throw|Continue|Break)Statement$/.test(node.type) ? [removed("statement", node)] : [];
  },
  cleanup: (node, source) => {
    if (node.type !== "TryStatement") return [];
    const blocks = [node["finalizer"], node["handler"]?.body].filter((block) => block?.body.length > 0);
    return blocks.map((block) => emptied(block, source));
  },
  await: (node, source) =>
    node.type === "AwaitExpression" ? [replaced("await", node, alone(node["argument"], source))] : [],
  return: (node) => {
    const value = returnedBy(node);
    return value === null || value.name === "undefined" ? [] : [replaced("return", value, "undefined")];
  },
  optional: (node, source) => {
    if (node["optional"] !== true || !/^(?:Member|Call)Expression$/.test(node.type)) return [];
    const start = source.indexOf("?.", (node["object"] ?? node["callee"]).end);
    const next = source[start + 2];
    return [{ operator: "optional", start, end: start + 2, text: next === "(" || next === "[" ? "" : "." }];
  },
  method: methodEdits,
  empty: (node) => {
    if (node.type === "ArrayExpression" && node["elements"].length > 0) return [replaced("empty", node, "[]")];
    return node.type === "ObjectExpression" && node["properties"].length > 0 ? [replaced("empty", node, "{}")] : [];
  },
  literal: literalEdits,
};

/** The names of all operators. */
export const OPERATORS = Object.keys(EDITS);

/**
 * @param {Node} node
 * @param {string} source
 * @param {readonly Node[]} around
 * @param {readonly string[]} operators
 * @returns {readonly Edit[]}
 */
export function editsAt(node, source, around, operators) {
  return operators.flatMap((operator) => EDITS[operator]?.(node, source, around) ?? []);
}

/** @type {(typeof EDITS)[string]} */
function methodEdits(node, source) {
  if (node.type !== "CallExpression" || node["callee"].type !== "MemberExpression") return [];
  const { object, property, computed } = node["callee"];
  if (computed) return [];
  if (property.name === "freeze" && object.name === "Object" && node["arguments"].length === 1)
    return [replaced("method", node, alone(node["arguments"][0], source))];
  if (TRANSFORMS.has(property.name)) return [replaced("method", node, alone(object, source))];
  const other = OPPOSITES.get(property.name);
  return other === undefined ? [] : [replaced("method", property, other)];
}

/**
 * @param {string} operator
 * @param {ReadonlyMap<string, string>} table
 * @param {Node} node with a `left` and a `right`
 * @param {string} source
 * @returns {readonly Edit[]}
 */
function operatorEdits(operator, table, node, source) {
  const other = table.get(node["operator"]);
  const start = source.indexOf(node["operator"], node["left"].end);
  return other === undefined ? [] : [{ operator, start, end: start + node["operator"].length, text: other }];
}

/** `+` between texts. @param {Node} node */
function isConcatenation({ operator, left, right }) {
  const isText = (/** @type {Node} */ side) =>
    side.type === "TemplateLiteral" || (side.type === "Literal" && typeof side["value"] === "string");
  return operator === "+" && (isText(left) || isText(right));
}

/** @param {Node} node @returns {Node | null} */
function returnedBy({ type, argument, body }) {
  if (type === "ReturnStatement") return argument;
  return type === "ArrowFunctionExpression" && body.type !== "BlockStatement" ? body : null;
}

/** Directives and calls of a super constructor must stay. @param {Node} statement */
function isRemovable({ directive, expression }) {
  return (directive === undefined || directive === null) && expression.callee?.type !== "Super";
}

/** @param {Record<string, string>} pairs */
function mapOf(pairs) {
  return new Map(Object.entries(pairs));
}

/** @param {string} operator @param {Node} node @param {string} text @returns {Edit} */
function replaced(operator, { start, end }, text) {
  return { operator, start, end, text };
}

/** @param {string} operator @param {Node} node @returns {Edit} */
function removed(operator, { start, end }) {
  return { operator, start, end, text: ";", of: "statement" };
}

/** @param {Node} block @param {string} source @returns {Edit} */
function emptied(block, source) {
  const inside = source.slice(block.start + 1, block.end - 1);
  const start = block.start + 1 + (inside.length - inside.trimStart().length);
  return { operator: "cleanup", start, end: start + inside.trim().length, text: "", of: "block" };
}

/** What means the same in every place. */
const SIMPLE = /^(?:Identifier|Literal|(?:Array|Call|Chain|Member|This)Expression|TemplateLiteral)$/;

/** A part of an expression that stands for all of it. @param {Node} node @param {string} source */
function alone(node, source) {
  const text = textOf(node, source);
  return SIMPLE.test(node.type) ? text : `(${text})`;
}

/** @param {Node} node @param {string} source */
function textOf({ start, end }, source) {
  return source.slice(start, end);
}
