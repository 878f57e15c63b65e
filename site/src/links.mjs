import { posix } from "node:path";

/** @typedef {import("./pages.mjs").Page} Page */

/**
 * Where a link in a Markdown file of the clone leads on the site: to a page, to a file that is no page, or elsewhere (undefined).
 *
 * @param {string} file the file that contains the link, relative to the clone
 * @param {string} href
 * @param {readonly Page[]} pages
 * @returns {{ page: string, file: string } | { repositoryFile: string } | undefined} `page`: an absolute link to the page of `file`
 */
export function linkTarget(file, href, pages) {
  if (/^(?:[a-z][a-z0-9+.-]*:|\/|#)/i.test(href)) return undefined;
  const [path = "", fragment] = href.split("#");
  const target = posix.join(posix.dirname(file), decodeURIComponent(path)).replace(/\/$/, "");
  const page = pages.find((each) => each.file === target || each.file === posix.join(target, "README.md"));
  if (page === undefined) return { repositoryFile: target };
  return { page: `/${page.path}.md${fragment === undefined ? "" : `#${fragment}`}`, file: page.file };
}

/**
 * Where a picture of docs/img is on the site, seen from a page. Undefined for any other.
 *
 * @param {Page} page the page that shows it
 * @param {string} src
 * @returns {string | undefined}
 */
export function pictureOn({ file, path }, src) {
  const target = posix.join(posix.dirname(file), src);
  if (!target.startsWith("docs/img/")) return undefined;
  return `./${posix.relative(posix.dirname(path), target.slice("docs/".length))}`;
}

/** Whether a link's text is only the file that it leads to. @param {string} text */
function isFileName(text) {
  return /^(?:docs\/)?[\w-]+\.md$/.test(text);
}

/** The fragment of a heading, as code hosts make it. Two headings of the same text get `-1` and so on after it. @param {string} heading */
export function slugOf(heading) {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_ -]/gu, "")
    .replaceAll(" ", "-");
}

/** @typedef {import("vitepress").MarkdownRenderer} Markdown */
/** @typedef {ReturnType<Markdown["parse"]>[number]} Token */

/**
 * A plugin of markdown-it. Links between files of the clone become links between pages, with the name of the page instead of a
 * file's. A link to any other file leads into the repository if its address is known, and else is only a name. A picture of docs/img
 * is found from every page.
 *
 * @typedef {object} LinkOptions
 * @property {readonly Page[]} pages
 * @property {ReadonlyMap<string, string>} names of pages, by their files
 * @property {string} repository the address of a file in the repository without its path, or empty
 *
 * @param {Markdown} md
 * @param {LinkOptions} options
 */
export function pageLinks(md, { pages, names, repository }) {
  const byPath = new Map(pages.map((page) => [`${page.path}.md`, page]));
  md.core.ruler.push("page_links", ({ tokens, env, Token }) => {
    const page = byPath.get(env.relativePath);
    if (page === undefined) return;
    /** @param {string} content */
    const html = (content) => Object.assign(new Token("html_inline", "", 0), { content });
    for (const { children } of tokens) {
      if (children === null) continue;
      rewriteLinks(children, page.file, html);
      rewritePictures(children, page);
    }
  });

  /** @param {readonly Token[]} tokens @param {Page} page */
  function rewritePictures(tokens, page) {
    for (const token of tokens.filter(({ type }) => type === "image")) {
      const src = pictureOn(page, token.attrGet("src") ?? "");
      if (src !== undefined) token.attrSet("src", src);
    }
  }

  /** @param {Token[]} tokens @param {string} file @param {(content: string) => Token} html */
  function rewriteLinks(tokens, file, html) {
    /** Whether the open link has become a mere name. */
    let isName = false;
    for (const [index, token] of tokens.entries()) {
      if (token.type === "link_close" && isName) {
        isName = false;
        tokens[index] = html("</span>");
      }
      if (token.type !== "link_open") continue;
      const target = linkTarget(file, token.attrGet("href") ?? "", pages);
      if (target === undefined) continue;
      if ("page" in target) {
        token.attrSet("href", target.page);
        const [text, end] = tokens.slice(index + 1);
        const name = names.get(target.file);
        if (text !== undefined && end?.type === "link_close" && name !== undefined && isFileName(text.content))
          text.content = name;
      } else if (repository !== "") token.attrSet("href", repository + target.repositoryFile);
      else {
        isName = true;
        tokens[index] = html(`<span title="${md.utils.escapeHtml(target.repositoryFile)}">`);
      }
    }
  }
}
