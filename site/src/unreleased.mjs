import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../scripts/lib/repository.mjs";

/** @typedef {import("vitepress").MarkdownRenderer} Markdown */

const OURS = /\bnpm install\b[^\n`]*@signpost\//;
/** How a page says it itself. */
export const SAYING = "Not on npm yet.";

/** Until the first release the README says so. */
export const isUnreleased = readFileSync(join(ROOT, "README.md"), "utf8").includes(SAYING);

/**
 * A plugin of markdown-it, for the time before the first release. A page that says to install one of our packages also says that npm
 * does not have them yet, below the first such command, with a link to what works until then.
 *
 * @param {Markdown} md
 */
export function sayUnreleased(md) {
  // Before the text of paragraphs is read, so that the link is one like any other.
  md.core.ruler.before("inline", "unreleased", ({ tokens, src, Token }) => {
    if (src.includes(SAYING)) return;
    const command = tokens.findIndex(({ type, content }) => /^(?:fence|inline)$/.test(type) && OURS.test(content));
    if (command < 0) return;
    const end = tokens.findIndex(({ level, nesting }, index) => index >= command && level === 0 && nesting <= 0);
    const content = `**${SAYING}** Until the first release, [get the packages from a clone](/start#1-install).`;
    const inline = Object.assign(new Token("inline", "", 0), { content, children: [], level: 1 });
    const [open, close] = [new Token("paragraph_open", "p", 1), new Token("paragraph_close", "p", -1)];
    tokens.splice(end + 1, 0, open, inline, close);
  });
}

/** The pages with a command that installs one of our packages, and no word that npm does not have them. @param {ReadonlyMap<string, string>} pages HTML by file */
export function silentPages(pages) {
  const codes = (/** @type {string} */ html) =>
    [...html.matchAll(/<code[^>]*>([\s\S]*?)<\/code>/g)].map(([code]) => textOf(code));
  return [...pages]
    .filter(([, html]) => codes(html).some((code) => OURS.test(code)) && !textOf(html).includes(SAYING))
    .map(([file]) => `${file}: says npm install, and not that npm does not have the packages yet`);
}

/** @param {string} html */
function textOf(html) {
  return html.replace(/<[^>]+>/g, "");
}
