// The search of the site. VitePress writes these functions into the pages as text, so each stands alone.

/** Words, and names with underscores, such as `private_key_jwt`, also as a whole. @param {string} text */
const tokenize = (text) => [
  ...text.split(/[\s\p{Z}\p{P}]+/u),
  ...(text.match(/[\p{L}\p{N}]+(?:_[\p{L}\p{N}]+)+/gu) ?? []),
];

/** What is asked, and also the beginning that other forms of it share: "rotate" finds "rotating" and "rotation". @param {string} asked */
const processTerm = (asked) => {
  const term = asked.toLowerCase();
  const stem = term.replace(/(?:ions?|ing|ed|es|e|s)$/, "");
  return stem.length >= 4 && stem !== term ? [term, stem] : term;
};

/**
 * Guides come before the README files, and these before the reference and the pages for contributors. The beginning of a page comes
 * before its sections, and the page whose name is the word, such as `rotation`, before all others.
 *
 * @param {string} id the address of a section. It begins with the path that the site is below
 * @param {string} term
 * @param {{ titles?: readonly string[] }} [section] with the titles above it
 */
const boostDocument = (id, term, section) => {
  const isBeginning = section?.titles?.length === 0;
  if (/\/(?:api\/|architecture|contributing|fuzzing|testing)/.test(id)) return isBeginning ? 0.6 : 0.4;
  if (/\/(?:packages|examples)\/[^/]*$/.test(id)) return isBeginning ? 1 : 0.7;
  const name = id
    .replace(/#.*$/, "")
    .replace(/^.*\//, "")
    .replace(/\.html$/, "");
  if (name === term) return isBeginning ? 6 : 2;
  if (!isBeginning) return 1;
  return name.startsWith(`${term}-`) ? 2.5 : 1.5;
};

/** The search looks for words as they are written, unless these options say otherwise. */
export const SEARCH = { options: { tokenize }, searchOptions: { processTerm, boostDocument } };
