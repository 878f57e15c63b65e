import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../lib/process.mjs";
import { readJson, ROOT } from "../lib/repository.mjs";
import { twoAtATime } from "../lib/tools.mjs";
import { publicPackages } from "../lib/workspace.mjs";
import { checkExampleTypes } from "./example-types.mjs";

// Versions are pinned, so that a release of another package cannot break the gate.

/** The oldest and newest supported TypeScript, and versions between them that resolve modules differently. */
const COMPILERS = { 5.4: "5.4.5", 5.6: "5.6.3", 5.9: "5.9.3", "6.0": "6.0.3", 7: pinned("typescript") };

/** The oldest and newest supported `@types/node`, and the newest that TypeScript 5.4 can read. */
const NODE_TYPES = { 20: pinned("@types/node"), 25: "25.9.9", 26: "26.6.7" };

const NEWEST_NODE_TYPES = 26;

/**
 * @typedef {keyof typeof COMPILERS} Compiler
 * @typedef {keyof typeof NODE_TYPES} NodeTypes
 * @typedef {object} Project settings in a user's tsconfig.json
 * @property {string} file
 * @property {string} module
 * @property {string} [moduleResolution] default: the compiler's default for that `module`
 * @property {readonly string[]} [lib] default: no DOM
 */

/** @type {Project} */
const NODE_NEXT = { file: "consumer.mts", module: "nodenext" };
/** @type {readonly Project[]} */
const ES_MODULES = [
  NODE_NEXT,
  { file: "consumer.mts", module: "node16" },
  { file: "consumer.mts", module: "esnext", moduleResolution: "bundler" },
];
/** @type {Project} */
const COMMON_JS = { file: "consumer.cts", module: "commonjs" };
/** Here TypeScript lets CommonJS import ES modules from 5.8 on. With node16 no version does. @type {Project} */
const COMMON_JS_NEXT = { file: "consumer.cts", module: "nodenext" };

/** The default of TypeScript has the DOM, and its types hide those of Node with the same name. @type {Project} */
const WITH_DOM = { file: "consumer.mts", module: "nodenext", lib: ["es2022", "dom"] };

/** Differences between versions of @types/node do not depend on how modules are resolved. */
const ONE_WAY = [NODE_NEXT];

/** @type {readonly (readonly [Compiler, NodeTypes, readonly Project[]])[]} */
const MATRIX = [
  [5.4, 20, [...ES_MODULES, WITH_DOM, COMMON_JS]],
  [5.4, 25, ONE_WAY],
  [5.6, 26, ONE_WAY],
  [5.9, 20, ONE_WAY],
  [5.9, 26, [...ES_MODULES, COMMON_JS, COMMON_JS_NEXT]],
  ["6.0", 20, ONE_WAY],
  ["6.0", 26, [...ES_MODULES, COMMON_JS, COMMON_JS_NEXT]],
  [7, 20, ES_MODULES],
  [7, 26, [...ES_MODULES, WITH_DOM, COMMON_JS, COMMON_JS_NEXT]],
];

/**
 * Compiles every entry point and a file that uses them. `skipLibCheck` is off, so the declarations of all packages are checked
 * too. Also compiles the examples with the newest `@types/node`.
 *
 * @param {string} folder the folder where the packages are installed
 */
export async function checkConsumerTypes(folder) {
  const installed = await install(folder);
  if (!installed.ok) return installed;
  for (const version of Object.keys(NODE_TYPES)) writeProgram(typesFolder(folder, version));
  const checks = [
    ...MATRIX.map((row) => () => compile(folder, ...row)),
    () => checkExampleTypes(folder, join(typesFolder(folder, NEWEST_NODE_TYPES), "node_modules")),
  ];
  const failed = (await twoAtATime(checks)).filter(({ ok }) => !ok);
  return { ok: failed.length === 0, output: failed.map(({ output }) => output).join("\n") };
}

/**
 * Installs the compilers in one folder and each `@types/node` in another. They are inside the consumer's folder, so that its
 * packages resolve.
 * @param {string} folder
 */
async function install(folder) {
  const compilers = Object.entries(COMPILERS).map(([name, version]) => `typescript-${name}@npm:typescript@${version}`);
  const jobs = [
    { cwd: join(folder, "compilers"), packages: compilers },
    ...Object.entries(NODE_TYPES).map(([name, version]) => ({
      cwd: typesFolder(folder, name),
      packages: [`@types/node@${version}`],
    })),
  ];
  const results = await twoAtATime(
    jobs.map(({ cwd, packages }) => () => {
      mkdirSync(cwd);
      writeFileSync(join(cwd, "package.json"), JSON.stringify({ private: true }));
      return run("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", ...packages], { cwd, quiet: true });
    }),
  );
  return results.find(({ ok }) => !ok) ?? { ok: true, output: "" };
}

/** Our own repository has undici only inside one package, so this is not in the file that is compiled there too. */
const USES_UNDICI = `import { fetch as undiciFetch } from "undici";
import type { FetchLike } from "@signpost/verify";
export const fetches: readonly FetchLike[] = [undiciFetch, (url, init) => undiciFetch(url, init)];`;

/** @param {string} folder */
function writeProgram(folder) {
  const imports = publicPackages().flatMap(({ entryPoints }) => entryPoints);
  const lines = imports.map((name, index) => `import * as entry${index} from "${name}";\nvoid entry${index};`);
  lines.push(USES_UNDICI);
  for (const extension of ["mts", "cts"]) {
    writeFileSync(join(folder, `consumer.${extension}`), lines.join("\n"));
    copyFileSync(join(ROOT, "test/e2e/support/consumer-types.ts"), join(folder, `uses.${extension}`));
  }
}

/**
 * Compiles all projects in one process, which is a third faster than one process for each.
 *
 * @param {string} folder
 * @param {Compiler} compiler
 * @param {NodeTypes} types
 * @param {readonly Project[]} projects
 */
async function compile(folder, compiler, types, projects) {
  const cwd = typesFolder(folder, types);
  const files = projects.map((project) => writeProject(cwd, compiler, project));
  const tsc = join(folder, "compilers/node_modules", `typescript-${compiler}`, "bin/tsc");
  const { ok, output } = await run(process.execPath, [tsc, "-b", "--verbose", ...files], { cwd, quiet: true });
  return { ok, output: `TypeScript ${compiler}, @types/node ${types}:\n${output}` };
}

/** @param {string} cwd @param {Compiler} compiler @param {Project} project */
function writeProject(cwd, compiler, { file, ...resolution }) {
  const compilerOptions = {
    target: "es2022",
    lib: ["es2022"],
    ...resolution,
    strict: true,
    noEmit: true,
    types: ["node"],
    // Packages that need the types of Node must use these too, and not the ones that npm installed next to them.
    typeRoots: ["node_modules/@types"],
  };
  const libraries = resolution.lib?.join("-") ?? "node";
  const name = `${[compiler, resolution.module, libraries, file].join("-")}.json`;
  writeFileSync(join(cwd, name), JSON.stringify({ compilerOptions, files: [file, file.replace("consumer", "uses")] }));
  return name;
}

/** @param {string} folder @param {string | number} version */
function typesFolder(folder, version) {
  return join(folder, `types-${version}`);
}

/** @param {string} name */
function pinned(name) {
  return readJson("package.json").dependencies[name];
}
