/**
 * Where Signpost is on the web. This is the only place that says so: packing for a release writes it into each
 * package.json, and makes the links of each package's README absolute. `npm run release` refuses to pack while a member
 * is empty.
 *
 * @typedef {object} Home
 * @property {string} homepage the page about Signpost
 * @property {string} repository what `git clone` takes
 * @property {string} bugs the page on which people report a bug
 * @property {string} files the address of a file in the repository, up to the file's path: it ends with a slash
 */

/** @type {Home} */
export const HOME = {
  homepage: "",
  repository: "",
  bugs: "",
  files: "",
};
