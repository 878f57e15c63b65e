import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../lib/process.mjs";
import { readJson, ROOT } from "../lib/repository.mjs";
import { tool } from "../lib/tools.mjs";
import { publicPackages } from "../lib/workspace.mjs";

/** @typedef {{ file: string, names: readonly string[] }} Changeset `names`: the packages in it */

const BUMP = /^"?(@?[\w/-]+)"?: (?:patch|minor|major)$/;

/** Checks that every changed package, and every unreleased one, is in a valid changeset. */
export async function checkChangesets() {
  const problems = changesetProblems(readChangesets(), publicPackages());
  if (problems.length > 0) return { ok: false, output: problems.join("\n") };
  return (await hasBaseBranch()) ? tool("changeset", ["status"]) : { ok: true, output: "" };
}

/**
 * Before its first release a package has one changeset, which becomes the first entry of its CHANGELOG. It says what the package
 * is. Readers do not need the steps that led to it.
 *
 * @param {readonly Changeset[]} changesets
 * @param {readonly { name: string, version: string }[]} packages
 */
export function changesetProblems(changesets, packages) {
  const unknown = changesets.flatMap(({ file, names }) =>
    names
      .filter((name) => !packages.some((known) => known.name === name))
      .map((name) => `.changeset/${file} names ${name}, which is not a public package`),
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
    `${name} is in ${[first, ...others].join(", ")}. It was never released, so it must have one changeset, which says what it is. ` +
      "Change that text, and remove the others",
  ];
}

/** Reads the packages in each front matter, and checks every line. @returns {Changeset[]} */
function readChangesets() {
  const files = readdirSync(join(ROOT, ".changeset")).filter((file) => file.endsWith(".md") && file !== "README.md");
  return files.map((file) => {
    const [, frontMatter = ""] = readFileSync(join(ROOT, ".changeset", file), "utf8").split("---\n");
    const names = frontMatter
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => {
        const name = BUMP.exec(line)?.[1];
        if (name === undefined)
          throw new Error(`.changeset/${file}: "${line}" is not a package with patch, minor or major`);
        return name;
      });
    return { file, names };
  });
}

/** False in a clone of another branch, or of one commit, which lacks the branch that changesets compares with. */
async function hasBaseBranch() {
  const { ok } = await run("git", ["rev-parse", "--verify", "--quiet", readJson(".changeset/config.json").baseBranch], {
    quiet: true,
  });
  return ok;
}
