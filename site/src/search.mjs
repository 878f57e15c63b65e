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
 * Guides come before the reference and the pages for contributors, and the beginning of a page before its sections.
 *
 * @param {string} id the address of a section
 * @param {string} _term
 * @param {{ titles?: readonly string[] }} [section] with the titles above it
 */
const boostDocument = (id, _term, section) => {
  const isForFew = /^\/(?:api\/|architecture|contributing|fuzzing|testing)/.test(id);
  return (isForFew ? 0.4 : 1) * (section?.titles?.length === 0 ? 1.5 : 1);
};

/** The search looks for words as they are written, unless these options say otherwise. */
export const SEARCH = { options: { tokenize }, searchOptions: { processTerm, boostDocument } };
