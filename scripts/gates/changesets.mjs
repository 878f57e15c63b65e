import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../lib/process.mjs";
import { readJson, ROOT } from "../lib/repository.mjs";
import { tool } from "../lib/tools.mjs";
import { publicPackages } from "../lib/workspace.mjs";

/** @typedef {{ file: string, names: readonly string[] }} Changeset the packages that one announces */

const BUMP = /^"?(@?[\w/-]+)"?: (?:patch|minor|major)$/;

/** Every changed package, and every one that was never released, is in a changeset that can be read. */
export async function checkChangesets() {
  const problems = changesetProblems(readChangesets(), publicPackages());
  if (problems.length > 0) return { ok: false, output: problems.join("\n") };
  return (await hasBaseBranch()) ? tool("changeset", ["status"]) : { ok: true, output: "" };
}

/**
 * Before its first release a package has one changeset, which becomes the first entry of its CHANGELOG: it says what the
 * package is. How it came to be that is of no use to its readers.
 *
 * @param {readonly Changeset[]} changesets
 * @param {readonly { name: string, version: string }[]} packages
 */
export function changesetProblems(changesets, packages) {
  const unknown = changesets.flatMap(({ file, names }) =>
    names
      .filter((name) => !packages.some((known) => known.name === name))
      .map((name) => `.changeset/${file} names ${name}, which is no public package`),
  );
  const unreleased = packages.filter(({ version }) => version === "0.0.0");
  return [...unknown, ...unreleased.flatMap(({ name }) => firstReleaseProblems(name, changesets))];
}

/** @param {string} name @param {readonly Changeset[]} changesets */
function firstReleaseProblems(name, changesets) {
  const [first, ...others] = changesets.filter(({ names }) => names.includes(name)).map(({ file }) => file);
  if (first === undefined) return [`${name} is in no changeset: run \`npx changeset\``];
  if (others.length === 0) return [];
  return [
    `${name} is in ${[first, ...others].join(", ")}. It was never released, so it has one changeset, which says what it is: ` +
      "change that text, and remove the others",
  ];
}

/** The packages that the front matters name, with every line checked. @returns {Changeset[]} */
function readChangesets() {
  const files = readdirSync(join(ROOT, ".changeset")).filter((file) => file.endsWith(".md") && file !== "README.md");
  return files.map((file) => {
    const [, frontMatter = ""] = readFileSync(join(ROOT, ".changeset", file), "utf8").split("---\n");
    const names = frontMatter
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => {
        const name = BUMP.exec(line)?.[1];
        if (name === undefined) throw new Error(`.changeset/${file}: "${line}" is no package with its bump`);
        return name;
      });
    return { file, names };
  });
}

/** A clone of another branch, or of one commit, does not have the branch that changesets compares with. */
async function hasBaseBranch() {
  const { ok } = await run("git", ["rev-parse", "--verify", "--quiet", readJson(".changeset/config.json").baseBranch], {
    quiet: true,
  });
  return ok;
}
