import { basename } from "node:path";
import { defineConfig } from "vitepress";
import { publicEntryPoints } from "../../scripts/lib/workspace.mjs";
import { HOME } from "../../scripts/release/home.mjs";
import { pageLinks, slugOf } from "./links.mjs";
import { SECTIONS } from "./navigation.mjs";
import { REFERENCE, sourcePages } from "./pages.mjs";
import { renderForSearch, SEARCH } from "./search.mjs";
import { isUnreleased, sayUnreleased } from "./unreleased.mjs";

const pages = sourcePages();
/** @param {string} file */
const linkOf = (file) => `/${pages.find((page) => page.file === file)?.path}`;
const isPage = (/** @type {{ file: string }} */ { file }) => pages.some((page) => page.file === file);

const names = new Map(SECTIONS.flatMap(({ entries }) => entries.map(({ file, text }) => [file, text])));
const guides = SECTIONS.map(({ text, folded, entries }) => ({
  text,
  ...(folded === undefined ? {} : { collapsed: folded }),
  items: entries.filter(isPage).map((entry) => ({ text: entry.text, link: linkOf(entry.file) })),
}));
const packages = readmes("packages/").map(({ path }) => ({ text: `@signpost/${basename(path)}`, link: `/${path}` }));
const examples = readmes("examples/").map(({ path }) => ({ text: basename(path), link: `/${path}` }));
const entryPoints = publicEntryPoints().map(({ name }) => ({
  text: name,
  link: `/${REFERENCE}/${name.replace(/^@[^/]+\//, "")}`,
}));

/** @param {string} parent */
function readmes(parent) {
  return pages.filter(({ file }) => file.startsWith(parent));
}

// A post with two arms, in the text itself, so that it is found below any path.
const ICON =
  "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16' fill='#3451b2'>" +
  "<path d='M7 0h2v16H7zM3 2h8l3 2-3 2H3zM13 8v4H5l-3-2 3-2z'/></svg>";

/** Folders are relative to the folder of one build, which `prepareSite` makes. */
export default defineConfig({
  lang: "en-US",
  title: "Signpost",
  description: "Sign the tokens of an OpenID Provider with a key that never leaves a KMS or an HSM.",
  head: [["link", { rel: "icon", type: "image/svg+xml", href: `data:image/svg+xml,${encodeURIComponent(ICON)}` }]],
  srcDir: "pages",
  outDir: "dist",
  cacheDir: "cache",
  lastUpdated: false,
  vite: { build: { chunkSizeWarningLimit: 4000 } },
  markdown: {
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    anchor: { slugify: slugOf },
    config: (md) => {
      md.use(pageLinks, { pages, names, repository: HOME.files });
      if (isUnreleased) md.use(sayUnreleased);
    },
  },
  themeConfig: {
    nav: [
      { text: "Start", link: "/start" },
      { text: "Guides", link: "/concepts", activeMatch: "^/(?!api|packages|examples|start)." },
      { text: "Reference", link: `/${REFERENCE}/`, activeMatch: `^/(?:${REFERENCE}|packages)/` },
    ],
    sidebar: {
      "/": [
        ...guides,
        { text: "Packages and their options", collapsed: true, items: packages },
        { text: "Examples", collapsed: true, items: examples },
        { text: "API reference", link: `/${REFERENCE}/` },
      ],
      [`/${REFERENCE}/`]: [
        { text: "API reference", link: `/${REFERENCE}/`, items: entryPoints },
        { text: "Packages and their options", items: packages },
        { text: "Guides", link: "/concepts" },
      ],
    },
    outline: { level: [2, 3] },
    search: { provider: "local", options: { miniSearch: SEARCH, _render: renderForSearch } },
    externalLinkIcon: true,
  },
});
