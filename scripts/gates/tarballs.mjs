import { writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { run } from "../lib/process.mjs";
import { tool } from "../lib/tools.mjs";
import { publicPackages } from "../lib/workspace.mjs";
import { prepareConsumer } from "./consumer.mjs";

/** What is published holds together: its files, its entry points, its types, and importing it. */
export async function checkTarballs() {
  const { folder, tarballs } = await prepareConsumer();
  const results = [];
  for (const tarball of tarballs) {
    results.push(await checkFiles(tarball));
    results.push(named(`publint ${basename(tarball)}`, await tool("publint", ["run", tarball, "--strict"])));
    results.push(named(`attw ${basename(tarball)}`, await tool("attw", [tarball, "--profile", "esm-only"])));
  }
  results.push(named("types", await checkConsumerTypes(folder)));
  const failed = results.filter(({ ok }) => !ok);
  return { ok: failed.length === 0, output: failed.map(({ output }) => output).join("\n") };
}

/** @param {string} what @param {{ ok: boolean, output: string }} result */
function named(what, { ok, output }) {
  return { ok, output: `${what}:\n${output}` };
}

const EXPECTED = ["LICENSE", "README.md", "package.json"];

/** @param {string} tarball */
async function checkFiles(tarball) {
  const { output } = await run("tar", ["-tzf", tarball], { quiet: true });
  const files = output
    .trim()
    .split("\n")
    .map((path) => path.replace(/^package\//, ""));
  const problems = [
    ...EXPECTED.filter((name) => !files.includes(name)).map((name) => `has no ${name}`),
    ...files.filter((name) => /\.tsbuildinfo$|(^|\/)test\//.test(name)).map((name) => `must not have ${name}`),
  ];
  return { ok: problems.length === 0, output: problems.map((text) => `${basename(tarball)} ${text}`).join("\n") };
}

/**
 * Every entry point, with the declarations of the packages checked too: they must not name what is not installed.
 * @param {string} folder
 */
async function checkConsumerTypes(folder) {
  const imports = publicPackages().flatMap(({ entryPoints }) => entryPoints);
  const lines = imports.map((name, index) => `import * as entry${index} from "${name}";\nvoid entry${index};`);
  writeFileSync(join(folder, "consumer.ts"), lines.join("\n"));
  const compilerOptions = {
    module: "nodenext",
    target: "es2023",
    lib: ["es2023", "esnext.disposable"],
    strict: true,
    noEmit: true,
    types: ["node"],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["consumer.ts"] }));
  return run(process.execPath, ["node_modules/typescript/bin/tsc", "-p", "."], { cwd: folder, quiet: true });
}
