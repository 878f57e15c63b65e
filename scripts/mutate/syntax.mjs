/**
 * A node of the syntax tree, as ESTree describes it.
 *
 * @typedef {{ type: string, start: number, end: number } & Record<string, any>} Node
 */

/** Types disappear before the code runs. */
const OF_TYPES = new Set(["typeAnnotation", "typeParameters", "typeArguments", "returnType", "implements"]);
const EXPRESSIONS_WITH_TYPES = new Set(["TSAsExpression", "TSNonNullExpression", "TSSatisfiesExpression"]);

/**
 * Calls back for each node that runs, from the outside in, with the nodes around it. The innermost of these comes last.
 *
 * @param {Node} node
 * @param {(node: Node, around: readonly Node[]) => void} visit
 * @param {readonly Node[]} [around]
 */
export function walk(node, visit, around = []) {
  if (node.type.startsWith("TS") && !EXPRESSIONS_WITH_TYPES.has(node.type)) return;
  visit(node, around);
  const inside = [...around, node];
  for (const [key, value] of Object.entries(node)) {
    if (OF_TYPES.has(key)) continue;
    for (const child of [value].flat()) if (isNode(child)) walk(child, visit, inside);
  }
}

/** @param {unknown} value @returns {value is Node} */
function isNode(value) {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}

/**
 * @param {string} source TypeScript
 * @returns {Promise<Node>}
 */
export async function parse(source) {
  const { parseAst } = await import("rolldown/parseAst");
  return /** @type {any} */ (parseAst(source, { lang: "ts", sourceType: "module" }));
}
