import { existsSync } from "node:fs";
import { join, normalize } from "node:path";
import { ROOT } from "../lib/repository.mjs";

/** @typedef {import("./home.mjs").Home} Home */

/**
 * A package.json with the addresses that a registry shows.
 *
 * @template {Readonly<Record<string, unknown>>} Manifest
 * @param {Manifest} manifest
 * @param {string} folder of the package, relative to the clone
 * @param {Home} home
 */
export function fillManifest(manifest, folder, { homepage, repository, bugs }) {
  return {
    ...manifest,
    homepage,
    repository: { type: "git", url: `git+${repository}`, directory: folder },
    bugs: { url: bugs },
  };
}

/**
 * A package.json whose peers among the published packages must have its minor version. In the clone their ranges are wide, because
 * `changeset version` makes a package 1.0.0 when the range of a peer no longer fits.
 *
 * @template {{ peerDependencies?: Readonly<Record<string, string>> }} Manifest
 * @param {Manifest} manifest
 * @param {Readonly<Record<string, string>>} versions of the published packages
 * @returns {Manifest}
 */
export function fillPeers(manifest, versions) {
  const { peerDependencies } = manifest;
  if (peerDependencies === undefined) return manifest;
  const filled = Object.entries(peerDependencies).map(([name, range]) => {
    const version = versions[name];
    return [name, version === undefined ? range : `^${version}`];
  });
  return { ...manifest, peerDependencies: Object.fromEntries(filled) };
}

/** The target of `[text](target)` and of `[label]: target`. */
const INLINE_TARGET = /(\]\()([^)\s]+)(?=[)\s])/g;
const REFERENCE_TARGET = /^(\s{0,3}\[[^\]]+\]:\s+)(\S+)/;
const FENCE = /^\s*```/;

/**
 * A README whose links work on a registry's page, which does not have the other files of the repository.
 *
 * @param {string} markdown
 * @param {string} folder of the package, relative to the clone
 * @param {Home} home
 */
export function fillLinks(markdown, folder, { files }) {
  /** @param {string} _ @param {string} before @param {string} target */
  const absolute = (_, before, target) => `${before}${isOnThePage(target) ? target : files + pathOf(target, folder)}`;
  let isCode = false;
  return markdown
    .split("\n")
    .map((line) => {
      if (FENCE.test(line)) isCode = !isCode;
      return isCode ? line : line.replace(INLINE_TARGET, absolute).replace(REFERENCE_TARGET, absolute);
    })
    .join("\n");
}

/** @param {string} target */
function isOnThePage(target) {
  return target.startsWith("#") || /^[a-z][a-z+.-]*:/i.test(target);
}

/**
 * The path of a link, relative to the clone, with its fragment.
 *
 * @param {string} target @param {string} folder
 */
function pathOf(target, folder) {
  const [file = "", fragment] = target.split("#");
  const path = normalize(join(folder, file));
  if (path.startsWith("..") || !existsSync(join(ROOT, path))) {
    throw new Error(`${join(folder, "README.md")} links to ${target}, which does not exist`);
  }
  return fragment === undefined ? path : `${path}#${fragment}`;
}
