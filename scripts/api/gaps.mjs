/** @typedef {import("./extract.mjs").Declarations} Declarations */
/** @typedef {import("./extract.mjs").ApiModel} ApiModel */

/** The start of a TypeScript block in a doc comment, with or without asterisks. */
const EXAMPLE = /^\s*(?:\* ?)?```ts\s*$/m;

/**
 * Problems in the declarations of entry points, one line each: a declaration or member without a comment, a function without an
 * example, a type that is used and not exported.
 *
 * @param {readonly Declarations[]} declarations
 * @returns {string[]}
 */
export function findGaps(declarations) {
  return [...new Set(declarations.flatMap((each) => gapsOf(each, exportedBy(each.entry.folder, declarations))))];
}

/**
 * @param {Declarations} declarations
 * @param {ReadonlySet<string>} exported names that any entry point of its package exports
 */
function gapsOf({ entry, model, notices }, exported) {
  const known = notices.flatMap(({ id, path, line, text, isError }) => {
    const [, name = ""] = /"([^"]+)"/.exec(text) ?? [];
    const where = `${path}:${line}`;
    if (isError) return [`${where}: ${text}`];
    if (id === "ae-undocumented") return [`${where}: ${NAMELESS[name] ?? name} has no comment`];
    if (id !== "ae-forgotten-export" || exported.has(name)) return [];
    return [`${where}: ${name} is used by an export of ${entry.name}, but is not exported`];
  });
  return [...known, ...functionsWithoutExample(model).map((name) => `${entry.name}: ${name}() has no example`)];
}

/** Members without a name in the code. @type {Readonly<Record<string, string>>} */
const NAMELESS = { __call: "the call signature", __new: "the construct signature", __index: "the index signature" };

/**
 * @param {string} folder of a package
 * @param {readonly Declarations[]} declarations
 */
function exportedBy(folder, declarations) {
  const ofPackage = declarations.filter(({ entry }) => entry.folder === folder);
  return new Set(ofPackage.flatMap(({ model }) => exportsOf(model)).map(({ name = "" }) => name));
}

/** @param {ApiModel} model */
function exportsOf({ members = [] }) {
  return members.flatMap(({ members: exported = [] }) => exported);
}

/**
 * Exported functions without a TypeScript block in the comment of any overload.
 *
 * @param {ApiModel} model
 */
function functionsWithoutExample(model) {
  const functions = exportsOf(model).filter(({ kind }) => kind === "Function");
  const names = new Set(functions.map(({ name = "" }) => name));
  for (const { name = "", docComment = "" } of functions) if (EXAMPLE.test(docComment)) names.delete(name);
  return [...names].toSorted();
}
