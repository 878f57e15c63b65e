import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../lib/process.mjs";
import { readJson, ROOT } from "../lib/repository.mjs";
import { tool } from "../lib/tools.mjs";
import { publicPackages } from "../lib/workspace.mjs";

const BUMP = /^"?(@?[\w/-]+)"?: (?:patch|minor|major)$/;

/** Every changed package, and every one that was never released, is in a changeset that can be read. */
export async function checkChangesets() {
  const announced = readChangesets();
  const packages = publicPackages();
  const unknown = announced.filter((name) => !packages.some((known) => known.name === name));
  const left = packages.filter(({ name, version }) => version === "0.0.0" && !announced.includes(name));
  const problems = [
    ...unknown.map((name) => `A changeset names ${name}, which is no public package`),
    ...left.map(({ name }) => `${name} is in no changeset: run \`npx changeset\``),
  ];
  if (problems.length > 0) return { ok: false, output: problems.join("\n") };
  return (await hasBaseBranch()) ? tool("changeset", ["status"]) : { ok: true, output: "" };
}

/** The packages that the front matters name, with every line checked. */
function readChangesets() {
  const files = readdirSync(join(ROOT, ".changeset")).filter((file) => file.endsWith(".md") && file !== "README.md");
  return files.flatMap((file) => {
    const [, frontMatter = ""] = readFileSync(join(ROOT, ".changeset", file), "utf8").split("---\n");
    return frontMatter
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => {
        const name = BUMP.exec(line)?.[1];
        if (name === undefined) throw new Error(`.changeset/${file}: "${line}" is no package with its bump`);
        return name;
      });
  });
}

/** A clone of another branch, or of one commit, does not have the branch that changesets compares with. */
async function hasBaseBranch() {
  const { ok } = await run("git", ["rev-parse", "--verify", "--quiet", readJson(".changeset/config.json").baseBranch], {
    quiet: true,
  });
  return ok;
}
