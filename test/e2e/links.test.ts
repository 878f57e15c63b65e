import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

// Each link of each page leads to a file of this repository, and each fragment to a heading in it.

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

const pages = [
  ...readdirSync(ROOT),
  ...readdirSync(join(ROOT, "docs")).map((name) => join("docs", name)),
  ...["packages", "examples"].flatMap((parent) =>
    readdirSync(join(ROOT, parent)).map((member) => join(parent, member, "README.md")),
  ),
].filter((path) => path.endsWith(".md") && !path.endsWith("CHANGELOG.md") && existsSync(join(ROOT, path)));

/** The text of a page outside of its blocks of code. */
function proseOf(page: string): string {
  return readFileSync(join(ROOT, page), "utf8").replace(/^( *)```[\s\S]*?^\1```/gm, "");
}

/** The fragments of a page's headings. */
function anchorsOf(page: string): readonly string[] {
  return [...proseOf(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, "")
      .replaceAll(" ", "-"),
  );
}

function isBroken(page: string, link: string): boolean {
  const [path = "", fragment] = link.split("#");
  const target = path === "" ? page : relative(ROOT, join(ROOT, dirname(page), path));
  if (!existsSync(join(ROOT, target))) return true;
  if (fragment === undefined || statSync(join(ROOT, target)).isDirectory()) return false;
  return target.endsWith(".md") && !anchorsOf(target).includes(fragment);
}

test.each(pages)("the links of %s lead somewhere", (page) => {
  const links = [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link);
  const here = links.filter((link) => !/^[a-z]+:/.test(link));
  expect(here.filter((link) => isBroken(page, link))).toEqual([]);
});

test("the pages and their headings were found", () => {
  expect(pages).toEqual(expect.arrayContaining(["README.md", "docs/signer.md", "packages/core/README.md"]));
  expect(anchorsOf("docs/signer.md")).toContain("health-and-events");
  expect(isBroken("docs/signer.md", "#no-such-heading")).toBe(true);
  expect(isBroken("docs/signer.md", "no-such-page.md")).toBe(true);
});
