import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { changesetProblems } from "../../scripts/gates/changesets.mjs";
import { publicPackages } from "../../scripts/lib/workspace.mjs";
import { fillLinks, fillManifest } from "../../scripts/release/fill.mjs";
import { HOME, type Home } from "../../scripts/release/home.mjs";
import { neededPackages } from "../../scripts/release/needed.mjs";
import { releaseProblems } from "../../scripts/release/problems.mjs";

// The tarballs gate packs every package with sample addresses, and looks at what came out.

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

const SAMPLE: Home = {
  homepage: "https://signpost.example/",
  repository: "https://signpost.example/signpost.git",
  bugs: "https://signpost.example/issues",
  files: "https://signpost.example/files/main/",
};

const EMPTY: Home = { homepage: "", repository: "", bugs: "", files: "" };

test("a release is refused while the addresses are empty, and the message names the file", () => {
  expect(releaseProblems(EMPTY, [{ version: "0.1.0" }])).toEqual(
    Object.keys(HOME).map((name) => `scripts/release/home.mjs: ${name} is empty`),
  );
});

test("a release is refused before the packages have a version", () => {
  expect(releaseProblems(SAMPLE, [{ version: "0.1.0" }, { version: "0.0.0" }])).toEqual([
    "the packages have no version yet: run `npx changeset version`",
  ]);
  expect(releaseProblems(SAMPLE, [{ version: "0.1.0" }])).toEqual([]);
});

test("npm run release says what is missing, and packs nothing", async () => {
  const problems = releaseProblems(HOME, publicPackages());
  const { code, stdout } = await promisify(execFile)(process.execPath, ["scripts/release.mjs", "--check"], {
    cwd: ROOT,
  }).then(
    (result) => ({ code: 0, stdout: result.stdout }),
    (error: { code: number; stdout: string }) => error,
  );
  expect(code).toBe(problems.length === 0 ? 0 : 1);
  for (const problem of problems) expect(stdout).toContain(problem);
});

test.each<[string, Partial<Home>]>([
  ["homepage is empty", { homepage: "" }],
  ["files does not end with a slash: https://signpost.example/main", { files: "https://signpost.example/main" }],
  ["bugs is not an https: URL: issues", { bugs: "issues" }],
  ["homepage is not an https: URL: http://signpost.example/", { homepage: "http://signpost.example/" }],
])("a release is refused: %s", (problem, change) => {
  expect(releaseProblems({ ...SAMPLE, ...change }, [])).toEqual([`scripts/release/home.mjs: ${problem}`]);
});

test("a filled package.json names the home page, the folder in the repository and the place for bugs", () => {
  expect(fillManifest({ name: "@signpost/core" }, "packages/core", SAMPLE)).toEqual({
    name: "@signpost/core",
    homepage: "https://signpost.example/",
    repository: { type: "git", url: "git+https://signpost.example/signpost.git", directory: "packages/core" },
    bugs: { url: "https://signpost.example/issues" },
  });
});

test.each([
  ["[guide](../../docs/signer.md)", "[guide](https://signpost.example/files/main/docs/signer.md)"],
  [
    "[a](../../docs/signer.md#opening), [b](../verify)",
    "[a](https://signpost.example/files/main/docs/signer.md#opening), [b](https://signpost.example/files/main/packages/verify)",
  ],
  [
    "![picture](../../docs/img/bench-start.svg)",
    "![picture](https://signpost.example/files/main/docs/img/bench-start.svg)",
  ],
  ["[guide]: ../../docs/signer.md", "[guide]: https://signpost.example/files/main/docs/signer.md"],
  ["[below](#options)", "[below](#options)"],
  ["[jose](https://github.com/panva/jose)", "[jose](https://github.com/panva/jose)"],
  ["```ts\nkeys[0](../../docs/signer.md)\n```", "```ts\nkeys[0](../../docs/signer.md)\n```"],
])("%s works on a page of a registry", (source, filled) => {
  expect(fillLinks(source, "packages/core", SAMPLE)).toBe(filled);
});

test.each(publicPackages())(
  "each link of the README of $name leads to a file, and has an address when it is packed",
  ({ folder }) => {
    const filled = fillLinks(readFileSync(join(ROOT, folder, "README.md"), "utf8"), folder, SAMPLE);
    const targets = [...filled.matchAll(/\]\(([^)]*)\)/g)].map(([, target = ""]) => target);
    expect(targets.filter((target) => target.startsWith(SAMPLE.files)).length).toBeGreaterThan(1);
    expect(targets.filter((target) => !/^(?:https:|#)/.test(target))).toEqual([]);
  },
);

test.each(["../../docs/no-such-guide.md", "../../../outside.md"])("a link to %s is refused", (target) => {
  expect(() => fillLinks(`[guide](${target})`, "packages/core", SAMPLE)).toThrow(
    `packages/core/README.md links to ${target}, which does not exist`,
  );
});

test.each([
  { version: "0.0.0", files: ["core.md"], problems: [] },
  { version: "0.0.0", files: [], problems: ["@signpost/core is in no changeset: run `npx changeset`"] },
  {
    version: "0.0.0",
    files: ["core.md", "faster.md"],
    problems: [
      "@signpost/core is in core.md, faster.md. It was never released, so it must have one changeset, which says what it is. Change that text, and remove the others",
    ],
  },
  { version: "0.1.0", files: [], problems: [] },
  { version: "0.1.0", files: ["core.md", "faster.md"], problems: [] },
])("a package of version $version in the changesets $files", ({ version, files, problems }) => {
  const changesets = files.map((file) => ({ file, names: ["@signpost/core"] }));
  expect(changesetProblems(changesets, [{ name: "@signpost/core", version }])).toEqual(problems);
});

test("a changeset of a package that is not published is refused", () => {
  expect(changesetProblems([{ file: "demo.md", names: ["@signpost/example-demo"] }], [])).toEqual([
    ".changeset/demo.md names @signpost/example-demo, which is not a public package",
  ]);
});

describe("npm run pack", () => {
  const manifests = [
    { name: "@signpost/cli", dependencies: { "@signpost/verify": "workspace:^", "@stricli/core": "^1.0.0" } },
    { name: "@signpost/core" },
    { name: "@signpost/local", dependencies: { "@signpost/core": "workspace:^" } },
    { name: "@signpost/verify", dependencies: { "@signpost/core": "workspace:^" } },
  ];

  test("also packs what a named package needs, because npm finds none of them before the first release", () => {
    expect(neededPackages(["cli"], manifests)).toEqual(["@signpost/cli", "@signpost/core", "@signpost/verify"]);
    expect(neededPackages(["@signpost/local", "core"], manifests)).toEqual(["@signpost/core", "@signpost/local"]);
  });

  test("packs everything if no package is named", () => {
    expect(neededPackages([], manifests)).toEqual(manifests.map(({ name }) => name));
  });

  test("refuses a name that no package has, before it builds", async () => {
    const script = join(ROOT, "scripts/pack.mjs");
    const failed = await promisify(execFile)(process.execPath, [script, "core", "awskms"]).catch((error) => error);
    expect(failed).toMatchObject({ code: 2 });
    expect(failed.stdout).toMatch(/^there is no package awskms\. The packages: @signpost\/aws-kms, /);
  });
});

test.each(["README.md", "docs/start.md"])(
  "%s says how to install from a clone for as long as the packages are on no registry",
  (page) => {
    const isReleased = publicPackages().some(({ version }) => version !== "0.0.0");
    const says = readFileSync(join(ROOT, page), "utf8").includes("**Not on npm yet.**");
    expect(says).toBe(!isReleased);
  },
);
