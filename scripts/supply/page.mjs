import { sizeOf, treeOf } from "./installed.mjs";
import { REASONS } from "./reasons.mjs";

/** @typedef {import("./dependencies.mjs").Dependency} Dependency */

/** Relative to the clone. */
export const PAGE = "docs/dependencies.md";

const START = "<!-- written by npm run dependencies -->";
const END = "<!-- end -->";

/**
 * The page with the table written again.
 *
 * @param {string} page
 * @param {readonly Dependency[]} dependencies
 */
export function fillPage(page, dependencies) {
  const [before, rest = ""] = page.split(START);
  const [, after] = rest.split(END);
  if (after === undefined) throw new Error(`${PAGE} has no "${START}" followed by "${END}"`);
  return `${before}${START}\n\n${tableOf(dependencies)}\n\n${END}${after}`;
}

/** @param {readonly Dependency[]} dependencies */
function tableOf(dependencies) {
  const names = [...new Set(dependencies.map(({ name }) => name))].toSorted();
  return [
    "| package | needed by | range | tested | why | license | maintained by | size |",
    "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ...names.map((name) => rowOf(dependencies.filter((dependency) => dependency.name === name))),
  ].join("\n");
}

/** @param {readonly Dependency[]} uses of one package, at least one */
function rowOf(uses) {
  const [{ name, installed }] = /** @type {readonly [Dependency]} */ (uses);
  const users = uses.map(({ user, kind }) => `${user.split("/")[1]}${kind === "dependency" ? "" : ` (${kind})`}`);
  const cells = [
    `\`${name}\``,
    users.join(", "),
    [...new Set(uses.map(({ range }) => `\`${range.replaceAll("|", "\\|")}\``))].join(", "),
    [...new Set(uses.map((use) => use.installed.manifest.version))].join(", "),
    REASONS[name] ?? "",
    installed.manifest.license ?? "",
    maintainerOf(installed.manifest),
    sizeText(installed),
  ];
  return `| ${cells.join(" | ")} |`;
}

/**
 * The person or organization that owns the repository.
 *
 * @param {import("./installed.mjs").Manifest} manifest
 */
export function maintainerOf({ repository }) {
  const url = typeof repository === "string" ? repository : (repository?.url ?? "");
  return /^(?:github:)?(?:.*github\.com[/:])?([\w.-]+)\/[\w.-]+/.exec(url)?.[1] ?? "";
}

/** @param {import("./installed.mjs").Installed} installed */
function sizeText(installed) {
  const others = treeOf(installed).slice(1);
  const own = inKilobytes(sizeOf(installed.folder));
  if (others.length === 0) return own;
  const all = [installed, ...others].reduce((sum, { folder }) => sum + sizeOf(folder), 0);
  return `${own}, with ${others.length} more ${others.length === 1 ? "package" : "packages"} ${inKilobytes(all)}`;
}

/** @param {number} bytes */
function inKilobytes(bytes) {
  const kilobytes = bytes / 1000;
  return kilobytes < 1000 ? `${Math.max(1, Math.round(kilobytes))} kB` : `${(kilobytes / 1000).toFixed(1)} MB`;
}

/**
 * What is wrong with the dependencies themselves, one line each.
 *
 * @param {readonly Dependency[]} dependencies
 * @param {Readonly<Record<string, string>>} [reasons]
 */
export function dependencyProblems(dependencies, reasons = REASONS) {
  const names = new Set(dependencies.map(({ name }) => name));
  return [
    ...[...names]
      .filter((name) => reasons[name] === undefined)
      .map((name) => `${name} has no reason in scripts/supply/reasons.mjs`),
    ...Object.keys(reasons)
      .filter((name) => !names.has(name))
      .map((name) => `scripts/supply/reasons.mjs has ${name}, which no published package needs`),
    ...dependencies.flatMap(({ name, installed: { manifest } }) => [
      ...(manifest.license ? [] : [`${name} says no license`]),
      ...(maintainerOf(manifest) ? [] : [`${name} says no repository`]),
    ]),
  ];
}
