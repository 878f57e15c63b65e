// npm run release: packs every package for a registry into .tmp/release. It publishes nothing. `--check` only
// reports what a release still needs. `--tag=NAME` also compares the versions with a tag.
import { readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { build } from "./lib/build.mjs";
import { readCommandLine } from "./lib/command-line.mjs";
import { ROOT } from "./lib/repository.mjs";
import { say } from "./lib/say.mjs";
import { publicPackages } from "./lib/workspace.mjs";
import { HOME } from "./release/home.mjs";
import { packPackages } from "./release/pack.mjs";
import { releaseProblems, tagProblems } from "./release/problems.mjs";

const { values } = readCommandLine("release [-- --check --tag=NAME]", {
  options: { check: { type: "boolean", default: false }, tag: { type: "string" } },
});
const { check, tag } = values;
const pending = readdirSync(join(ROOT, ".changeset")).filter((name) => name.endsWith(".md"));
const problems = [
  ...releaseProblems(HOME, publicPackages()),
  ...(tag === undefined ? [] : tagProblems(tag, publicPackages(), pending)),
];
if (problems.length > 0) {
  say("Nothing was packed. Fix this first:");
  for (const problem of problems) say(`  ${problem}`);
  process.exit(1);
}
if (check) process.exit(0);
if (!(await build())) process.exit(1);
const tarballs = await packPackages(join(ROOT, ".tmp/release"), HOME);
say("Check the tarballs, then publish each one:");
for (const tarball of tarballs) say(`  npm publish ${relative(ROOT, tarball)} --access public`);
