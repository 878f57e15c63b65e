import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { NODE_VERSIONS } from "../../scripts/gates/node-matrix.mjs";

// Statements that the guides make in more than one place.

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

function filesBelow(folder: string, extension: string): readonly string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(extension) && !path.includes("node_modules"))
    .map((path) => join(folder, path));
}

const packages = readdirSync(join(ROOT, "packages")).map((name) => join("packages", name));
const texts = [
  "README.md",
  ...filesBelow("docs", ".md"),
  ...packages.map((folder) => join(folder, "README.md")),
  ...packages.flatMap((folder) => filesBelow(join(folder, "src"), ".ts")),
];

// At the top level of a module, the signer would be closed as soon as the server listens.
test("no example opens a signer with `await using` at the top level", () => {
  expect(texts.length).toBeGreaterThan(100);
  expect(texts.filter((path) => /^(?: \* )?await using /m.test(read(path)))).toEqual([]);
});

test("every page gives the measured processor time of a verification", () => {
  const row = read("docs/performance-figures.md")
    .split("\n")
    .find((line) => line.startsWith("| signer of 25 ms, verify of node:crypto alone |"));
  const addedCpu = Number.parseFloat(row?.split("|")[8] ?? "");
  const number = `${addedCpu.toFixed(1)} ms`;
  expect(read("docs/performance-method.md")).toContain(`count **${number}** of processor time for each verification`);
  expect(read("docs/operations.md")).toContain(`| processor | ${number} to verify a signature, after a wait of 25 ms`);
  // The option `verify`, in its comment and in the table of the package.
  const lines = texts
    .flatMap((path) => read(path).split("\n"))
    .filter((line) => line.includes("verifies each signature,"));
  expect(lines).toHaveLength(2);
  for (const line of lines) expect(line).toContain(`verifies each signature, which takes ${number} of processor time`);
});

test("the README links every guide, and the README of every package", () => {
  const links = new Set([...read("README.md").matchAll(/\]\(([^)#]+)/g)].map(([, target]) => target));
  const pages = [...filesBelow("docs", ".md"), ...packages.map((folder) => join(folder, "README.md"))];
  expect(pages.filter((page) => !links.has(page))).toEqual([]);
});

test(".nvmrc names the oldest version of Node that every package supports", () => {
  const [oldest] = NODE_VERSIONS;
  expect(read(".nvmrc").trim()).toBe(String(oldest));
  const manifests = ["package.json", ...packages.map((folder) => join(folder, "package.json"))];
  const engines = manifests.map((path) => (JSON.parse(read(path)) as { engines: { node: string } }).engines.node);
  expect(new Set(engines)).toEqual(new Set([`^${oldest}.19 || >=22.12`]));
});

// A new run gives new numbers, and then two pages would differ.
test("only the pages on performance quote measured times with their confidence", () => {
  const pages = filesBelow("docs", ".md").filter((path) => !path.startsWith("docs/performance"));
  const quoting = ["README.md", ...pages].filter((path) => /\d % confidence/.test(read(path)));
  expect(quoting).toEqual([]);
});

test("no guide is longer than 250 lines", () => {
  const guides = filesBelow("docs", ".md").filter((path) => path !== "docs/performance-figures.md");
  expect(guides.filter((path) => read(path).trimEnd().split("\n").length > 250)).toEqual([]);
});
