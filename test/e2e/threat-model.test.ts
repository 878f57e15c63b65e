import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { testTitlesOf } from "./support/test-titles.ts";

// Each guarantee of docs/threat-model.md is proven by tests that exist.

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const page = readFileSync(join(ROOT, "docs/threat-model.md"), "utf8");

const [, guarantees = ""] = /\n## Guarantees\n([\s\S]*?)\n## /.exec(page) ?? [];
const rows = guarantees
  .split("\n")
  .filter((line) => line.startsWith("| ") && !/^\| (?:Signpost|---) \|/.test(line))
  .map((line) => line.slice(2, -2).split(" | "));

/** The titles of the tests in a cell, with their files. */
function proofsIn(cell: string): readonly { readonly title: string; readonly path: string }[] {
  return [...cell.matchAll(/\[((?:[^[\]]|\[[^\]]*\])+)\]\(\.\.\/([^)]+)\)/g)].map(([, title = "", path = ""]) => ({
    title,
    path,
  }));
}

test("the page has guarantees", () => {
  expect(rows.length).toBeGreaterThan(35);
});

test.each(rows)("%s: its tests exist", (...cells) => {
  expect(cells).toHaveLength(2);
  const proofs = proofsIn(cells[1] ?? "");
  expect(proofs.length).toBeGreaterThan(0);
  for (const { title, path } of proofs) {
    expect(path).toMatch(/\.test\.ts$/);
    expect(existsSync(join(ROOT, path)), path).toBe(true);
    expect(testTitlesOf(join(ROOT, path)), path).toContain(title);
  }
});

test("a title is found with its groups, and no other title is", () => {
  const titles = testTitlesOf(join(ROOT, "packages/core/test/signing/jwt.test.ts"));
  expect(titles).toContain("signJwt a token with any one bit of its signature flipped does not verify");
  expect(titles).not.toContain("a token with any one bit of its signature flipped does not verify");
  expect(titles.filter((title) => title.startsWith("signJwt refuses"))).toEqual([
    "signJwt refuses %s and names it",
    "signJwt refuses a cycle",
    "signJwt refuses an iat option if the claims have an iat",
  ]);
});
