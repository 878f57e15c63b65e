import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readJson, ROOT } from "../lib/repository.mjs";
import { publicPackages } from "../lib/workspace.mjs";
import { externalDependencies } from "../supply/dependencies.mjs";
import { installScriptProblems } from "../supply/install-scripts.mjs";
import { dependencyProblems, fillPage, PAGE } from "../supply/page.mjs";

/** Checks that docs/dependencies.md is complete and right, and that nothing runs a script when it is installed. */
export async function checkDependencies() {
  const dependencies = externalDependencies();
  const page = readFileSync(join(ROOT, PAGE), "utf8");
  const published = publicPackages().map(({ folder }) => ({
    folder: join(ROOT, folder),
    manifest: readJson(join(folder, "package.json")),
  }));
  const problems = [
    ...dependencyProblems(dependencies),
    ...installScriptProblems(dependencies, published),
    ...(fillPage(page, dependencies) === page ? [] : [`${PAGE} is out of date: run \`npm run dependencies\``]),
  ];
  return { ok: problems.length === 0, output: problems.join("\n") };
}
