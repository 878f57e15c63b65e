import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, normalize, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { listTestFiles } from "../../scripts/lib/test-files.mjs";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PACKAGES = readdirSync(join(ROOT, "packages"));
/** The map of the code: `docs/architecture.md` and the pages next to it. */
const MAP = readdirSync(join(ROOT, "docs"))
  .filter((name) => /^architecture\b.*\.md$/.test(name))
  .map((name) => join("docs", name));

function readPage(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

interface Section {
  readonly page: string;
  readonly heading: string;
  readonly text: string;
  /** The package that it is about: what a heading "Inside NAME" names, of the section or else of its page. */
  readonly inside: string;
}

/** The parts of a page, from its title and from each `##` heading on. */
function sections(page: string): readonly Section[] {
  const parts = readPage(page).split(/^##? /m).slice(1);
  const headings = parts.map((part) => part.slice(0, part.indexOf("\n")));
  return parts.map((text, index) => {
    const heading = headings[index] ?? "";
    const named = [heading, headings[0] ?? ""].find((each) => each.startsWith("Inside ")) ?? "";
    return { page, heading, text, inside: named.replace("Inside ", "") };
  });
}

/** Everything that the map says about the inside of a package. */
function insideOf(name: string): string {
  const about = MAP.flatMap(sections).filter(({ inside }) => inside === name);
  return about.map(({ text }) => text).join("\n");
}

/** The arrows that a table "folder | purpose | imports" draws, as `from → to`. */
function drawnArrows(section: string): string[] {
  const rows = [...section.matchAll(/^\| `([a-z]+)\/` \|.*\| ([^|]*) ?\|$/gm)];
  return rows.flatMap(([, from = "", imports = ""]) => [
    `${from} is a folder`,
    ...[...imports.matchAll(/`([a-z]+)\/`/g)].map(([, to = ""]) => `${from} → ${to}`),
  ]);
}

interface Import {
  readonly from: string;
  readonly to: string;
}

/** What the sources of a package import of each other, as paths below `src`. */
function importsOf(name: string): readonly Import[] {
  const src = join(ROOT, "packages", name, "src");
  const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  return files.flatMap((from) => {
    const imported = readFileSync(join(src, from), "utf8").matchAll(/(?:\bfrom|\bimport\(?)\s*"(\.[^"]+)"/g);
    return [...imported].map(([, to = ""]) => ({ from, to: normalize(join(dirname(from), to)) }));
  });
}

/** The folder below `src`, or undefined for a file directly in it. */
function folderOf(path: string): string | undefined {
  return path.includes(sep) ? path.split(sep)[0] : undefined;
}

test.each(["cli", "core", "kubernetes", "pkcs11", "verify"])(
  "the folders of %s import what the map says, and all of that",
  (name) => {
    const imports = importsOf(name);
    const folders = new Set(imports.map(({ from }) => folderOf(from)).filter((folder) => folder !== undefined));
    const arrows = imports.flatMap(({ from, to }) => {
      const [a, b] = [folderOf(from), folderOf(to)];
      return a === undefined || b === undefined || a === b ? [] : [`${a} → ${b}`];
    });
    const real = [...new Set([...[...folders].map((folder) => `${folder} is a folder`), ...arrows])];
    expect(real.toSorted()).toEqual(drawnArrows(insideOf(name)).toSorted());
  },
);

test.each(["cli", "core", "kubernetes", "pkcs11", "verify"])(
  "the arrows between the folders of %s go one way",
  (name) => {
    const arrows = drawnArrows(insideOf(name)).map((arrow) => arrow.split(" → "));
    // Takes away the folders that import none of the rest, again and again.
    let rest = arrows.filter((arrow) => arrow.length === 2);
    for (let before = Number.POSITIVE_INFINITY; rest.length < before;) {
      before = rest.length;
      const importing = new Set(rest.map(([from]) => from));
      rest = rest.filter(([, to]) => importing.has(to));
    }
    expect(rest).toEqual([]);
  },
);

test.each(PACKAGES)("no folder of %s imports a file above it", (name) => {
  const imports = importsOf(name);
  const above = new Set(imports.filter(({ from, to }) => folderOf(from) === undefined && folderOf(to) !== undefined));
  const entries = new Set([...above].map(({ from }) => from));
  expect(imports.filter(({ from, to }) => folderOf(from) !== undefined && entries.has(to))).toEqual([]);
});

/** The names of files in a text: whole paths, and the last part of a test's name. Patterns such as `*.d.ts` are none. */
function namedFiles(text: string): string[] {
  return [...text.matchAll(/`([\w./-]+\.(?:ts|mjs|json|md))`/g)]
    .map(([, file = ""]) => file)
    .filter((file) => file !== "package.json" && !file.startsWith("node_modules/"));
}

/** Where a file that is named in a section may be: from the root on, in the section's packages, or as `NAME/…`. */
function places(file: string, packages: readonly string[]): string[] {
  const [first = "", ...rest] = file.split("/");
  return [
    file,
    join("packages", first, "src", ...rest),
    ...packages.map((name) => join("packages", name, "src", file)),
  ];
}

function missingFiles(text: string, packages: readonly string[]): string[] {
  const tests = new Set(listTestFiles().map(({ path }) => basename(path)));
  return namedFiles(text).filter(
    (file) => !tests.has(file) && !places(file, packages).some((place) => existsSync(join(ROOT, place))),
  );
}

test.each(MAP.flatMap(sections))("the section $heading of $page names files that exist", ({ inside, text }) => {
  expect(missingFiles(text, [inside === "an adapter" ? "aws-kms" : inside])).toEqual([]);
});

test("the map has a part for each package whose inside it explains", () => {
  const inside = new Set(MAP.flatMap(sections).map((section) => section.inside));
  expect([...inside].toSorted()).toEqual(
    [
      "",
      "an adapter",
      "better-auth",
      "cli",
      "conformance",
      "core",
      "kubernetes",
      "oidc-provider",
      "pkcs11",
      "verify",
      "x509",
    ].toSorted(),
  );
});

test("aws-kms and gcp-kms have the files that the map lists for both", () => {
  const files = [...insideOf("an adapter").matchAll(/^\| `([\w-]+\.ts)` \|/gm)].map(([, file = ""]) => file);
  expect(files.length).toBeGreaterThan(5);
  for (const name of ["aws-kms", "gcp-kms"]) {
    expect(files.filter((file) => !existsSync(join(ROOT, "packages", name, "src", file)))).toEqual([]);
  }
});

test.each([
  ["CONTRIBUTING.md", []],
  ["docs/pkcs11-threads.md", ["pkcs11"]],
])("%s names files that exist", (page, packages) => {
  expect(missingFiles(readPage(page), packages)).toEqual([]);
});
