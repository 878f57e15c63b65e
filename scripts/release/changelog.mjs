/**
 * What `changeset version` writes into a CHANGELOG. It has no commit hashes, and one line for all dependencies that changed. The
 * first entry of a package only says what the package is.
 *
 * @typedef {{ name: string, oldVersion: string, newVersion: string }} Release
 */

/**
 * @param {{ summary: string }} changeset
 * @returns {Promise<string>}
 */
export async function getReleaseLine({ summary }) {
  const text = summary.trim();
  if (text.startsWith("First release")) return `${text}\n`;
  const [first, ...rest] = text.split("\n");
  return [`- ${first}`, ...rest.map((line) => (line === "" ? "" : `  ${line}`))].join("\n");
}

/**
 * @param {readonly unknown[]} _ the changesets of the dependencies
 * @param {readonly Release[]} dependencies
 * @returns {Promise<string>}
 */
export async function getDependencyReleaseLine(_, dependencies) {
  const updated = dependencies.filter(({ oldVersion }) => oldVersion !== "0.0.0");
  if (updated.length === 0) return "";
  return `- Now with ${updated.map(({ name, newVersion }) => `${name} ${newVersion}`).join(", ")}`;
}
