import { basename } from "node:path";
import { run } from "../lib/process.mjs";
import { tool } from "../lib/tools.mjs";
import { checkConsumerTypes } from "./consumer-types.mjs";
import { prepareConsumer } from "./consumer.mjs";

/** Every way to resolve. CommonJS gets the ES modules, which each supported version of Node can require. */
const ATTW = ["--profile", "strict", "--ignore-rules=cjs-resolves-to-esm"];

/** What is published holds together: its files, its entry points, its types, and importing it. */
export async function checkTarballs() {
  const { folder, tarballs } = await prepareConsumer();
  const results = [];
  for (const tarball of tarballs) {
    results.push(await checkFiles(tarball));
    results.push(named(`publint ${basename(tarball)}`, await tool("publint", ["run", tarball, "--strict"])));
    results.push(named(`attw ${basename(tarball)}`, await tool("attw", [tarball, ...ATTW])));
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
