// The search of the site. VitePress writes these functions into the pages as text, so each stands alone. `renderForSearch` runs in
// the build only.

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
 * before its sections. The page whose name is the word, such as `rotation`, comes before all others, and then those whose name begins
 * with the word, the shortest first.
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
  if (name === term) return isBeginning ? 40 : 2;
  if (!isBeginning) return 1;
  // `azure-key-vault` comes before `azure-key-vault-production`.
  const begins = name.startsWith(`${term}-`);
  return begins ? 1 + 8 / name.split("-").length : 1.5;
};

/**
 * A page as HTML for the index. Its name is a part of its beginning, because a title may have other words: `compare` is called
 * "Signpost and its peers".
 *
 * @param {string} source
 * @param {{ relativePath: string }} env
 * @param {{ render(source: string, env: object): string }} md
 */
export function renderForSearch(source, env, md) {
  const name = env.relativePath.replace(/^.*\//, "").replace(/\.md$/, "");
  const html = md.render(source, env);
  return name === "index" ? html : html.replace("</h1>", `</h1>\n<p>${name.replaceAll("-", " ")}</p>\n`);
}

/** The search looks for words as they are written, unless these options say otherwise. */
export const SEARCH = { options: { tokenize }, searchOptions: { processTerm, boostDocument } };
