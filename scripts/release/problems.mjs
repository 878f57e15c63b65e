/** @typedef {import("./home.mjs").Home} Home */

/**
 * The reasons why a release cannot be packed yet, one line each.
 *
 * @param {Home} home
 * @param {readonly { version: string }[]} packages
 */
export function releaseProblems(home, packages) {
  const unversioned = packages.some(({ version }) => version === "0.0.0");
  return [
    ...homeProblems(home).map((problem) => `scripts/release/home.mjs: ${problem}`),
    ...(unversioned ? ["the packages have no version yet: run `npx changeset version`"] : []),
  ];
}

/** @param {Home} home @returns {string[]} */
function homeProblems(home) {
  return Object.entries(home).flatMap(([name, value]) => {
    if (value === "") return [`${name} is empty`];
    if (!URL.canParse(value) || new URL(value).protocol !== "https:") return [`${name} is not an https: URL: ${value}`];
    return name === "files" && !value.endsWith("/") ? [`${name} does not end with a slash: ${value}`] : [];
  });
}

/**
 * The reasons why a tag cannot be released, one line each.
 *
 * @param {string} tag
 * @param {readonly { name: string, version: string }[]} packages
 * @param {readonly string[]} pending changesets that are in no version yet
 */
export function tagProblems(tag, packages, pending) {
  return [
    ...packages
      .filter(({ version }) => tag !== `v${version}`)
      .map(({ name, version }) => `the tag is ${tag}, but ${name} has the version ${version}`),
    ...pending.map((file) => `.changeset/${file} is in no version yet: run \`npx changeset version\``),
  ];
}
