import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { sourcePages } from "../../site/src/pages.mjs";
import { renderForSearch, SEARCH } from "../../site/src/search.mjs";

// What the search of the site finds first. The index has the sections of the Markdown files as VitePress splits them, without the API
// reference. `site.chromium.test.ts` asks the built site.

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** What is used of the library that VitePress searches with. It is a dependency of VitePress alone. */
interface Index {
  addAll(sections: readonly Section[]): void;
  search(words: string): readonly { readonly id: string }[];
}
interface Section {
  readonly id: string;
  readonly title: string;
  readonly titles: readonly string[];
  readonly text: string;
}

/** The options of VitePress 1.6. */
const VITEPRESS = {
  fields: ["title", "titles", "text"],
  storeFields: ["title", "titles"],
  searchOptions: { fuzzy: 0.2, prefix: true, boost: { title: 4, text: 2, titles: 1 }, ...SEARCH.searchOptions },
  ...SEARCH.options,
};

/** Markdown as it is, except for its headings. */
const md = {
  render: (source: string): string =>
    source
      .replaceAll(/^```.*?^```/gms, "")
      .replaceAll(
        /^(#+) (.*)$/gm,
        (_all, marks: string, title: string) => `<h${marks.length}>${title}</h${marks.length}>`,
      ),
};

function* sectionsOf(path: string, html: string): Generator<Section> {
  const parts = html.split(/<h(\d)>(.*?)<\/h\d>/).slice(1);
  let above: string[] = [];
  for (let at = 0; at + 2 < parts.length; at += 3) {
    const [level = "", title = "", text = ""] = parts.slice(at, at + 3);
    above = above.slice(0, Number(level) - 1);
    yield { id: `/${path}.html#${at}`, title, titles: above, text: text.replaceAll(/<[^>]*>/g, "") };
    above = [...above, title];
  }
}

function buildIndex(): Index {
  const vitepress = createRequire(join(ROOT, "site/package.json")).resolve("vitepress");
  const MiniSearch = createRequire(vitepress)("minisearch") as new (options: object) => Index;
  const index = new MiniSearch(VITEPRESS);
  for (const { file, path } of sourcePages()) {
    const source = readFileSync(join(ROOT, file), "utf8");
    index.addAll([...sectionsOf(path, renderForSearch(source, { relativePath: `${path}.md` }, md))]);
  }
  return index;
}

const index = buildIndex();

test.each([
  ["emergency", "emergency"],
  ["emergency rotation", "rotation"],
  ["incident", "incidents"],
  ["azure", "azure-key-vault"],
  ["azure key vault", "azure-key-vault"],
  ["aws", "aws-kms"],
  ["gcp", "gcp-kms"],
  ["vault", "vault-transit"],
  ["openbao", "vault-transit"],
  ["pkcs11", "pkcs11"],
  ["rotation", "rotation"],
  ["rotate", "rotation"],
  ["verify", "verify"],
  ["kubernetes", "kubernetes"],
  ["certificates", "certificates"],
  ["x5c", "x5c"],
  ["haip", "credential-issuers"],
  ["compare", "compare"],
  ["migrate", "migrate"],
  ["performance", "performance"],
  ["start", "start"],
])("the search for %s finds the page about it first: %s", (words, page) => {
  expect(index.search(words)[0]?.id.replace(/#.*/, "")).toBe(`/${page}.html`);
});
