import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { exportedNames, missingNames, siteProblems, withoutEntry } from "../../site/src/check.mjs";
import { linkTarget, pictureOn, slugOf } from "../../site/src/links.mjs";
import { SECTIONS } from "../../site/src/navigation.mjs";
import { sourcePages } from "../../site/src/pages.mjs";
import { silentPages } from "../../site/src/unreleased.mjs";

// What the gate `site` checks after it has built the site, with sites that are wrong on purpose.

function siteOf(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "signpost-site-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

describe("the check of a built site", () => {
  const sound = {
    "index.html": `<link rel="stylesheet" href="/style.css"><a class="x" href="/guide/a.html#part">A</a><img src="/p.svg"><script src="/s.js"></script>`,
    "guide/a.html": `<h2 id="part">Part</h2><a href="../index.html">home</a> <a href="/">home</a> <a href="#part">up</a> <a href="https://example.com/">out</a>`,
    "style.css": "body { background: url(/p.svg) }",
    "p.svg": "<svg/>",
    "s.js": "",
  };

  test("has nothing to say about a sound site", () => {
    expect(siteProblems(siteOf(sound))).toEqual([]);
  });

  test.each([
    ["a page that does not exist", `<a href="/gone.html">x</a>`, "index.html: the link /gone.html leads nowhere"],
    ["a page above the site", `<a href="../../x.html">x</a>`, "index.html: the link ../../x.html leads nowhere"],
    ["a heading that does not exist", `<a href="/guide/a.html#no">x</a>`, "leads to no heading of guide/a.html"],
    ["a heading that the same page lacks", `<a href="#no">x</a>`, "the link #no leads to no heading of index.html"],
    ["a picture that does not exist", `<img alt="x" src="/gone.svg">`, "index.html: /gone.svg is missing"],
    ["a script that does not exist", `<script src="/gone.js"></script>`, "index.html: /gone.js is missing"],
    [
      "a script from another host",
      `<script src="https://cdn.example/x.js"></script>`,
      "https://cdn.example/x.js from elsewhere",
    ],
    ["a font from another host", `<link href="//fonts.example/x.css">`, "//fonts.example/x.css from elsewhere"],
  ])("finds %s", (_name, html, problem) => {
    const problems = siteProblems(siteOf({ ...sound, "index.html": html }));
    expect(problems).toEqual([expect.stringContaining(problem)]);
  });

  test.each(["@import 'https://fonts.example/x.css';", "b { src: url('https://fonts.example/x') }"])(
    "finds what a style sheet would load from another host: %s",
    (css) => {
      const problems = siteProblems(siteOf({ ...sound, "style.css": css }));
      expect(problems).toEqual([expect.stringContaining("from elsewhere")]);
    },
  );

  test("knows the path under which a site is served", () => {
    const page = `<a href="/docs/b.html">b</a>`;
    expect(siteProblems(siteOf({ "index.html": page, "b.html": "" }), "/docs/")).toEqual([]);
    expect(siteProblems(siteOf({ "index.html": page, "b.html": "" }), "/other/")).toHaveLength(1);
  });
});

describe("the check of the reference", () => {
  const report = "// @public\nexport function openThing(): void;\nexport class Thing {\n}\nexport { Other }\n";

  test("reads every kind of export in a report", () => {
    const all =
      "export type A = 1;\nexport interface B {}\nexport const C: 1;\nexport abstract class D {}\nexport enum E {}\n";
    expect(exportedNames(report + all)).toEqual(["openThing", "Thing", "A", "B", "C", "D", "E", "Other"]);
  });

  test("finds a name without a heading", () => {
    const page = `<h3 id="openthing">openThing() <a class="header-anchor" href="#openthing">#</a></h3><h2 id="thing">Thing&lt;T&gt;</h2>`;
    const entry = { name: "@signpost/x", report, page };
    expect(missingNames([entry])).toEqual(["Other of @signpost/x is not in the reference"]);
    expect(missingNames([{ ...entry, page: `${page}<h3>Other</h3>` }])).toEqual([]);
  });

  test("finds an entry point without a page", () => {
    expect(missingNames([{ name: "@signpost/x", report, page: "" }])).toHaveLength(3);
  });
});

describe("the navigation", () => {
  test("has every guide", () => {
    const guides = sourcePages().filter(({ file }) => file.startsWith("docs/"));
    expect(guides.length).toBeGreaterThan(60);
    expect(
      withoutEntry(
        guides.map(({ file }) => file),
        SECTIONS,
      ),
    ).toEqual([]);
    expect(withoutEntry(["docs/new.md"], SECTIONS)).toEqual(["docs/new.md is not in the navigation of the site"]);
  });

  test("has each page once", () => {
    const files = SECTIONS.flatMap(({ entries }) => entries.map(({ file }) => file));
    expect(files.filter((file, index) => files.indexOf(file) !== index)).toEqual([]);
  });
});

describe("links between files of the repository", () => {
  const pages = [
    { file: "README.md", path: "overview" },
    { file: "docs/a.md", path: "a" },
    { file: "packages/core/README.md", path: "packages/core" },
  ];

  test.each([
    ["docs/b.md", "a.md#part", { page: "/a.md#part", file: "docs/a.md" }],
    [
      "docs/b.md",
      "../packages/core/README.md#options",
      { page: "/packages/core.md#options", file: "packages/core/README.md" },
    ],
    ["README.md", "packages/core", { page: "/packages/core.md", file: "packages/core/README.md" }],
    ["packages/core/README.md", "../../README.md", { page: "/overview.md", file: "README.md" }],
    ["docs/b.md", "../test/e2e", { repositoryFile: "test/e2e" }],
    ["docs/b.md", "../packages/core/test/x.test.ts", { repositoryFile: "packages/core/test/x.test.ts" }],
    ["docs/b.md", "#here", undefined],
    ["docs/b.md", "https://example.com/a.md", undefined],
    ["docs/b.md", "/api/", undefined],
  ])("in %s, %s leads to %o", (file, href, target) => {
    expect(linkTarget(file, href, pages)).toEqual(target);
  });

  test.each([
    ["docs/a.md", "a", "img/p.svg", "./img/p.svg"],
    ["SECURITY.md", "security", "docs/img/p.svg", "./img/p.svg"],
    ["packages/core/README.md", "packages/core", "../../docs/img/p.svg", "./../img/p.svg"],
    ["site/pages/index.md", "index", "img/p.svg", undefined],
    ["docs/a.md", "a", "https://example.com/docs/img/p.svg", undefined],
  ])("in %s, which is the page %s, the picture %s is at %s", (file, path, src, place) => {
    expect(pictureOn({ file, path }, src)).toBe(place);
  });

  test("a heading has the fragment that it has in the repository", () => {
    expect(slugOf("From the jwks of oidc-provider")).toBe("from-the-jwks-of-oidc-provider");
    expect(slugOf("PKCS#11 at 25 ms: r‖s, `kid`")).toBe("pkcs11-at-25-ms-rs-kid");
  });
});

test("a page that says to install a package must say that npm does not have it yet", () => {
  const command = `<code><span>npm</span> <span>install</span><span> @signpost/core</span></code>`;
  const pages = new Map([
    ["a.html", command],
    ["b.html", `${command}<p><strong>Not on npm yet.</strong></p>`],
    ["c.html", "<code>npm install</code> asks for <code>@signpost/core</code>"],
  ]);
  expect(silentPages(pages)).toEqual([expect.stringMatching(/^a\.html: /)]);
});
