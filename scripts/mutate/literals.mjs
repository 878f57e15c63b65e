/** @typedef {import("./syntax.mjs").Node} Node */
/** @typedef {import("./operators.mjs").Edit} Edit */

/**
 * Other literals: a number that is one more or one less, an empty text, the other truth value, a pattern without an anchor. Prose
 * stays: tests do not pin the words of a message.
 *
 * @param {Node} node
 * @param {string} source
 * @param {readonly Node[]} around
 * @returns {readonly Edit[]}
 */
export function literalEdits(node, source, around) {
  const parent = around.at(-1);
  if (parent === undefined || isName(node, parent) || isModuleName(parent)) return [];
  if (around.some((outer) => isTableOfNames(outer, source))) return [];
  return replacements(node, source, parent).map((text) => ({
    operator: "literal",
    start: node.start,
    end: node.end,
    text,
  }));
}

/** @param {Node} node @param {string} source @param {Node} parent @returns {readonly string[]} */
function replacements(node, source, parent) {
  if (node.type === "TemplateLiteral") {
    const texts = node["quasis"].map((/** @type {Node} */ quasi) => quasi["value"].raw).join("");
    return parent.type === "TaggedTemplateExpression" || isProse(texts) ? [] : ['""'];
  }
  if (node.type !== "Literal") return [];
  const { value, regex, bigint } = node;
  if (regex !== undefined && regex !== null) return withoutAnchors(source.slice(node.start, node.end), regex.pattern);
  if (bigint !== undefined && bigint !== null) return [`${BigInt(bigint) + 1n}n`];
  if (typeof value === "boolean") return [String(!value)];
  if (typeof value === "number") return value === 0 ? ["1"] : [String(value + 1), String(value - 1)];
  if (typeof value !== "string" || isProse(value)) return [];
  return [value === "" ? '"mutant"' : '""'];
}

/** @param {string} text */
function isProse(text) {
  return /\s/.test(text.trim());
}

/** @param {string} literal @param {string} pattern */
function withoutAnchors(literal, pattern) {
  return [
    ...(pattern.startsWith("^") ? [literal.replace("/^", "/")] : []),
    ...(/(?<!\\)\$$/.test(pattern) ? [literal.replace(/\$\/(\w*)$/, "/$1")] : []),
  ].filter((text) => !text.startsWith("//"));
}

/** The name of a property, or a text that is a statement. @param {Node} node @param {Node} parent */
function isName(node, parent) {
  return (parent["key"] === node && parent["computed"] !== true) || parent.type === "ExpressionStatement";
}

/** Only the names of such a table are read. @param {Node} node @param {string} source */
function isTableOfNames({ type, id, callee }, source) {
  if (type === "CallExpression") return callee.name === "assertOptions";
  const annotation = type === "VariableDeclarator" ? id.typeAnnotation : undefined;
  return annotation?.type !== undefined && source.slice(annotation.start, annotation.end).includes("OptionNames<");
}

/** Bundlers read the names of modules. @param {Node} parent */
function isModuleName({ type, callee, arguments: given }) {
  if (type === "NewExpression") return callee.name === "URL" && given[1]?.object?.type === "MetaProperty";
  return /^(?:Import|Export)/.test(type);
}
