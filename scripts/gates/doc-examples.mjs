import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT, scratchFolder } from "../lib/repository.mjs";
import { tool } from "../lib/tools.mjs";

/**
 * @typedef {object} Example
 * @property {string} source the file with the example, relative to the clone
 * @property {number} line line of its fence, from 1
 * @property {readonly string[]} code
 */

const FENCE = /^```(?:ts|typescript)\s*$/;

/** Compiles every ```ts block in the documentation and in doc comments against the built entry points. */
export async function checkDocExamples() {
  const build = await tool("tsc", ["-b"]);
  if (!build.ok) return build;

  const examples = [...markdownFiles(), ...sourceFiles()].flatMap((source) => readExamples(source));
  if (examples.length === 0) return { ok: false, output: "No examples found in Markdown or doc comments" };
  const files = examples.map((example) => writeExample(example));
  const { ok, output } = await tool("tsc", ["-p", writeConfiguration(files)]);
  return { ok, output: inTermsOfTheSource(output, examples) };
}

/** @param {string} source @returns {Example[]} */
function readExamples(source) {
  const text = readFileSync(join(ROOT, source), "utf8").split("\n");
  const isMarkdown = source.endsWith(".md");
  // In a doc comment each line starts with an asterisk, which is not part of the example.
  const lines = isMarkdown ? text : text.map((line) => /^\s*\* ?(.*)$/.exec(line)?.[1] ?? "");
  return lines.flatMap((line, index) => {
    if (!FENCE.test(line)) return [];
    const end = lines.indexOf("```", index);
    return [{ source, line: index + 1, code: lines.slice(index + 1, end === -1 ? undefined : end) }];
  });
}

/**
 * Written inside the package that it documents, so that imports resolve as in that package. Lines keep their numbers.
 * @param {Example} example
 */
function writeExample(example) {
  const path = join(ROOT, examplePath(example));
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, ["\n".repeat(example.line), example.code.join("\n"), "\nexport {};\n"].join(""));
  return path;
}

/** @param {Example} example */
function examplePath({ source, line }) {
  const [parent = "", member = ""] = source.split("/");
  const base = parent === "packages" ? join(parent, member) : "";
  return join(base, ".tmp/doc-examples", `${source.replaceAll("/", "__")}.${line}.ts`);
}

/** @param {readonly string[]} files */
function writeConfiguration(files) {
  const path = join(scratchFolder("doc-examples"), "tsconfig.json");
  const compilerOptions = {
    composite: false,
    noEmit: true,
    declaration: false,
    declarationMap: false,
    isolatedDeclarations: false,
    // As for a user: use the compiled declarations, and allow unused variables in an example.
    customConditions: [],
    noUnusedLocals: false,
    noUnusedParameters: false,
    // NestJS has decorators of parameters, which the standard does not.
    experimentalDecorators: true,
  };
  writeFileSync(path, JSON.stringify({ extends: join(ROOT, "tsconfig.base.json"), compilerOptions, files }));
  return path;
}

/**
 * @param {string} output
 * @param {readonly Example[]} examples
 */
function inTermsOfTheSource(output, examples) {
  return examples.reduce((text, example) => text.replaceAll(examplePath(example), example.source), output);
}

function markdownFiles() {
  const members = ["packages", "examples"].flatMap((parent) => filesBelow(parent, ".md"));
  const top = readdirSync(ROOT).filter((name) => name.endsWith(".md"));
  return [...top, ...filesBelow("docs", ".md"), ...members].filter((path) => !path.endsWith("CHANGELOG.md"));
}

function sourceFiles() {
  return filesBelow("packages", ".ts").filter((path) => /^packages\/[^/]+\/src\//.test(path));
}

const GENERATED = new Set(["node_modules", "dist", ".tmp"]);

/** @param {string} folder @param {string} extension @returns {string[]} */
function filesBelow(folder, extension) {
  if (!existsSync(join(ROOT, folder))) return [];
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return GENERATED.has(entry.name) ? [] : filesBelow(path, extension);
    return path.endsWith(extension) ? [path] : [];
  });
}
