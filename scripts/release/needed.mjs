/**
 * @typedef {object} Manifest
 * @property {string} name
 * @property {Readonly<Record<string, string>>} [dependencies]
 */

/**
 * The packages that a user named, and those of ours that these need. npm finds none of them in a registry before the first release.
 *
 * @param {readonly string[]} asked names, with or without the scope: `core`, `@signpost/core`. None: all packages
 * @param {readonly Manifest[]} manifests of all published packages
 * @returns {string[]} in the order of the manifests
 */
export function neededPackages(asked, manifests) {
  const names = manifests.map(({ name }) => name);
  const unknown = asked.filter((name) => !names.includes(withScope(name)));
  if (unknown.length > 0)
    throw new Error(`there is no package ${unknown.join(", ")}. The packages: ${names.join(", ")}`);
  const needed = new Set(asked.length === 0 ? names : asked.map(withScope));
  // A set hands out what is added while it is walked.
  for (const name of needed) {
    const { dependencies = {} } = manifests.find((manifest) => manifest.name === name) ?? {};
    for (const dependency of Object.keys(dependencies)) if (names.includes(dependency)) needed.add(dependency);
  }
  return names.filter((name) => needed.has(name));
}

/** @param {string} name */
function withScope(name) {
  return name.startsWith("@") ? name : `@signpost/${name}`;
}
