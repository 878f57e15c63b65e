/**
 * The addresses of Signpost on the web. They are only in this file. Packing for a release writes them into each package.json, and
 * makes the links in each package's README absolute. `npm run release` refuses to pack while a member is empty.
 *
 * @typedef {object} Home
 * @property {string} homepage the page about Signpost
 * @property {string} repository the URL for `git clone`
 * @property {string} bugs the page for bug reports
 * @property {string} files the address of a file in the repository without the file's path. It ends with a slash
 */

/** @type {Home} */
export const HOME = {
  homepage: "",
  repository: "",
  bugs: "",
  files: "",
};
