import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { run } from "../lib/process.mjs";
import { ROOT } from "../lib/repository.mjs";

/** The folder of the committed reports, one for each entry point. */
const FOLDER = join(ROOT, "etc");

/**
 * The differences between the committed reports and the new ones, one diff for each report that has changed.
 *
 * @param {readonly string[]} made paths
 * @returns {Promise<string[]>}
 */
export async function diffReports(made) {
  const names = [...new Set([...committedNames(), ...made.map((path) => basename(path))])].toSorted();
  const diffs = names.map((name) => diff(join(FOLDER, name), made.find((path) => basename(path) === name) ?? ""));
  return (await Promise.all(diffs)).filter((text) => text !== "");
}

/** Replaces the reports in `etc/` with the new ones. You commit them. @param {readonly string[]} made paths */
export function acceptReports(made) {
  mkdirSync(FOLDER, { recursive: true });
  const names = made.map((path) => basename(path));
  for (const name of committedNames()) if (!names.includes(name)) rmSync(join(FOLDER, name));
  for (const path of made) copyFileSync(path, join(FOLDER, basename(path)));
}

/**
 * @param {string} before
 * @param {string} after
 */
async function diff(before, after) {
  if (existsSync(before) && existsSync(after) && readFileSync(before).equals(readFileSync(after))) return "";
  const paths = [before, after].map((path) => (existsSync(path) ? relative(ROOT, path) : "/dev/null"));
  const args = ["diff", "--no-index", "--no-color", "--no-ext-diff", "--", ...paths];
  return (await run("git", args, { quiet: true })).output;
}

function committedNames() {
  return existsSync(FOLDER) ? readdirSync(FOLDER).filter((name) => name.endsWith(".api.md")) : [];
}
