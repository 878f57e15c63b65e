import { basename } from "node:path";
import { run } from "../lib/process.mjs";
import { tool, twoAtATime } from "../lib/tools.mjs";
import { checkConsumerTypes } from "./consumer-types.mjs";
import { prepareConsumer, SAMPLE_HOME } from "./consumer.mjs";

/** Checks every way to resolve. CommonJS gets ES modules, which each supported version of Node can require. */
const ATTW = ["--profile", "strict", "--ignore-rules=cjs-resolves-to-esm"];

/** Checks the published packages: files, entry points, types and links. */
export async function checkTarballs() {
  const { folder, tarballs } = await prepareConsumer();
  const results = await twoAtATime(
    tarballs.flatMap((tarball) => [
      () => checkFiles(tarball),
      () => checkAddresses(tarball),
      () => named(`publint ${basename(tarball)}`, tool("publint", ["run", tarball, "--strict"])),
      () => named(`attw ${basename(tarball)}`, tool("attw", [tarball, ...ATTW])),
    ]),
  );
  results.push(await named("types", checkConsumerTypes(folder)));
  const failed = results.filter(({ ok }) => !ok);
  return { ok: failed.length === 0, output: failed.map(({ output }) => output).join("\n") };
}

/** @param {string} what @param {Promise<{ ok: boolean, output: string }>} result */
async function named(what, result) {
  const { ok, output } = await result;
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
 * A package's page on a registry has no other files of the repository, so every link must be an address.
 *
 * @param {string} tarball
 */
async function checkAddresses(tarball) {
  const [manifest, readme] = await Promise.all(["package.json", "README.md"].map((name) => readPacked(tarball, name)));
  const { homepage, repository, bugs, keywords, description } = JSON.parse(manifest ?? "");
  const relative = [...(readme ?? "").matchAll(/\]\((?!https:|#)([^)]*)\)/g)].map(([, target]) => target);
  const problems = [
    ...relative.map((target) => `has a relative link in its README.md, which does not work on a registry: ${target}`),
    ...(homepage === SAMPLE_HOME.homepage ? [] : ["has no homepage"]),
    ...(repository?.url.endsWith(SAMPLE_HOME.repository) && repository.directory ? [] : ["has no repository"]),
    ...(bugs?.url === SAMPLE_HOME.bugs ? [] : ["has no bugs"]),
    ...(keywords?.length > 3 ? [] : ["has no keywords"]),
    ...(description ? [] : ["has no description"]),
  ];
  return { ok: problems.length === 0, output: problems.map((text) => `${basename(tarball)} ${text}`).join("\n") };
}

/** @param {string} tarball @param {string} name */
async function readPacked(tarball, name) {
  const { output } = await run("tar", ["-xzOf", tarball, `package/${name}`], { quiet: true });
  return output;
}
