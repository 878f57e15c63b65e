import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { differences } from "../../scripts/gates/reproducible.mjs";
import { sbomProblems } from "../../scripts/gates/sbom.mjs";
import { ownerProblems, pinProblems } from "../../scripts/gates/workflows.mjs";
import { removeLeftovers } from "../../scripts/lib/bundle.mjs";
import { getDependencyReleaseLine, getReleaseLine } from "../../scripts/release/changelog.mjs";
import { fillPeers } from "../../scripts/release/fill.mjs";
import { tagProblems } from "../../scripts/release/problems.mjs";
import { externalDependencies } from "../../scripts/supply/dependencies.mjs";
import { installScriptProblems } from "../../scripts/supply/install-scripts.mjs";
import { findInstalled, sizeOf, treeOf } from "../../scripts/supply/installed.mjs";
import { dependencyProblems, fillPage, maintainerOf } from "../../scripts/supply/page.mjs";
import { toSbom } from "../../scripts/supply/sbom.mjs";

// Each check of the supply chain gets something that is wrong on purpose. The gates run them on what is published.

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const HASH = "0".repeat(40);

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "signpost-supply-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** Writes a package into `node_modules` of a new folder, and returns it as installed. */
async function installed(name: string, files: Readonly<Record<string, string>>) {
  const project = await mkdtemp(join(folder, "project-"));
  for (const [path, text] of Object.entries(files)) {
    const file = join(project, "node_modules", path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
  const found = findInstalled(name, join(project, "deeper"));
  if (found === undefined) throw new Error(`${name} was not written`);
  return found;
}

function manifest(name: string, more: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({ name, version: "1.0.0", ...more });
}

describe("the table of dependencies", () => {
  test("a missing reason, a stale reason, a missing license and a missing repository are named", async () => {
    const bare = await installed("bare", { "bare/package.json": manifest("bare") });
    const uses = [
      { name: "bare", range: "^1", kind: "dependency", user: "@signpost/verify", installed: bare } as const,
    ];
    expect(dependencyProblems(uses, { gone: "was needed" })).toEqual([
      "bare has no reason in scripts/supply/reasons.mjs",
      "scripts/supply/reasons.mjs has gone, which no published package needs",
      "bare says no license",
      "bare says no repository",
    ]);
  });

  test("another version or license changes the page, and a page without its marks is refused", async () => {
    const page = await readFile(join(ROOT, "docs/dependencies.md"), "utf8");
    const real = externalDependencies();
    expect(fillPage(page, real)).toBe(page);
    const [first, ...others] = real;
    if (first === undefined) throw new Error("no dependency was found");
    const changed = (change: object) => ({
      ...first,
      installed: { ...first.installed, manifest: { ...first.installed.manifest, ...change } },
    });
    expect(fillPage(page, [changed({ version: "0.0.1" }), ...others])).not.toBe(page);
    expect(fillPage(page, [changed({ license: "UNLICENSED" }), ...others])).not.toBe(page);
    expect(fillPage(page, others)).not.toBe(page);
    expect(() => fillPage("# Dependencies", real)).toThrow("docs/dependencies.md has no");
  });

  test.each([
    ["git+https://github.com/panva/jose.git", "panva"],
    ["git://github.com/SheetJS/js-crc32.git", "SheetJS"],
    ["git@github.com:nodejs/undici.git", "nodejs"],
    ["kornelski/http-cache-semantics", "kornelski"],
    ["github:microsoft/node-jsonc-parser", "microsoft"],
    ["", ""],
  ])("the owner of %s is %s", (url, owner) => {
    expect(maintainerOf({ name: "x", version: "1.0.0", repository: url })).toBe(owner);
    expect(maintainerOf({ name: "x", version: "1.0.0", repository: { url } })).toBe(owner);
  });

  test("the size counts every file, but not what was built or linked here", async () => {
    const native = await installed("native", {
      "native/package.json": manifest("native"),
      "native/binding.gyp": "{}",
      "native/lib/build/index.js": "12345",
      "native/build/Release/native.node": "built",
      "native/node_modules/.bin/tool": "linked",
    });
    expect(sizeOf(native.folder)).toBe(manifest("native").length + 2 + 5);
  });

  test("a tree has each package once, also in a circle", async () => {
    const root = await installed("a", {
      "a/package.json": manifest("a", { dependencies: { b: "1" }, optionalDependencies: { missing: "1" } }),
      "b/package.json": manifest("b", { dependencies: { a: "1", c: "1" } }),
      "b/node_modules/c/package.json": manifest("c"),
      "c/package.json": manifest("c", { version: "2.0.0" }),
    });
    expect(treeOf(root).map(({ manifest: { name, version } }) => `${name}@${version}`)).toEqual([
      "a@1.0.0",
      "b@1.0.0",
      "c@1.0.0",
    ]);
  });
});

describe("install scripts", () => {
  const files = {
    "top/package.json": manifest("top", { dependencies: { deep: "1" } }),
    "deep/package.json": manifest("deep", { scripts: { postinstall: "node x.js" } }),
  };

  test("one deep under a dependency is refused, even if it is explained", async () => {
    const top = await installed("top", files);
    expect(installScriptProblems([{ kind: "dependency", installed: top }], [], {})).toEqual([
      "deep runs a script, and every user of a published package installs it",
    ]);
    expect(installScriptProblems([{ kind: "dependency", installed: top }], [], { deep: "why" })).toContain(
      "deep runs a script, and every user of a published package installs it",
    );
  });

  test("one under a peer must be explained", async () => {
    const top = await installed("top", files);
    const peer = [{ kind: "peer", installed: top }];
    expect(installScriptProblems(peer, [], {})).toEqual([
      "deep runs a script when it is installed: explain it in INSTALL_SCRIPTS, or do without it",
    ]);
    expect(installScriptProblems(peer, [], { deep: "why" })).toEqual([]);
  });

  test("a native package without a script counts, and so does a published package", async () => {
    const native = await installed("native", {
      "native/package.json": manifest("native"),
      "native/binding.gyp": "{}",
    });
    expect(installScriptProblems([{ kind: "optional peer", installed: native }], [], {})).toHaveLength(1);
    expect(installScriptProblems([], [native], {})).toEqual(["native runs a script when it is installed"]);
    expect(installScriptProblems([], [], { native: "why" })).toEqual([
      "INSTALL_SCRIPTS has native, which does not run a script, or is not needed any more",
    ]);
  });
});

describe("the SBOM", () => {
  const component = (name: string) => ({
    type: "library",
    name,
    version: "1.0.0",
    "bom-ref": `pkg:npm/${name}@1.0.0`,
    purl: `pkg:npm/${name}@1.0.0`,
    licenses: [{ license: { id: "MIT" } }],
    authors: [{ name: "A Person <person@example.org>" }],
    externalReferences: [
      {
        type: "distribution",
        url: `https://mirror.example/${name}.tgz`,
        hashes: [{ alg: "SHA-512", content: "ab".repeat(64) }],
      },
    ],
  });
  const root = { ...component("@signpost/verify"), group: "@signpost", name: "verify" };
  const found = {
    specVersion: "1.6",
    metadata: { timestamp: "2026-01-01T00:00:00Z", component: root },
    components: [component("undici"), component("jose")],
    dependencies: [
      { ref: root["bom-ref"], dependsOn: ["pkg:npm/undici@1.0.0", "pkg:npm/jose@1.0.0"] },
      { ref: "pkg:npm/undici@1.0.0" },
      { ref: "pkg:npm/jose@1.0.0", dependsOn: [] },
    ],
  };
  const packed = {
    name: "@signpost/verify",
    version: "1.0.0",
    dependencies: { undici: "^1", jose: "^1" },
    peerDependencies: { "@azure/identity": "^4" },
  };
  const peers = { peerDependencies: packed.peerDependencies };
  const text = (bom: object) => JSON.stringify(bom);

  test("the order in which pnpm found the packages, and the time, do not matter", () => {
    const shuffled = {
      ...found,
      metadata: { ...found.metadata, timestamp: "2027-01-01T00:00:00Z" },
      components: found.components.toReversed(),
      dependencies: found.dependencies
        .toReversed()
        .map((one) => ({ ...one, dependsOn: one.dependsOn?.toReversed() ?? [] })),
    };
    expect(text(toSbom(shuffled, peers))).toBe(text(toSbom(found, peers)));
    expect(toSbom({ ...found, components: [component("jose")] }, peers).serialNumber).not.toBe(
      toSbom(found, peers).serialNumber,
    );
  });

  test("a time is in it only if SOURCE_DATE_EPOCH gives one", () => {
    expect(toSbom(found, peers).metadata).not.toHaveProperty("timestamp");
    expect(toSbom(found, peers, "1767225600").metadata).toMatchObject({ timestamp: "2026-01-01T00:00:00.000Z" });
  });

  test("it is valid and complete, and has no address of a registry and no person", async () => {
    const sbom = text(toSbom(found, peers));
    expect(await sbomProblems(sbom, packed)).toEqual([]);
    expect(sbom).not.toMatch(/mirror\.example|person@/);
    expect(JSON.parse(sbom).components).toContainEqual({
      type: "library",
      "bom-ref": "peer:pkg:npm/%40azure/identity",
      group: "@azure",
      name: "identity",
      scope: "required",
      purl: "pkg:npm/%40azure/identity",
      properties: [{ name: "signpost:peer-range", value: "^4" }],
    });
  });

  test.each([
    ["another version", { ...packed, version: "2.0.0" }, "is of @signpost/verify@1.0.0"],
    ["a dependency that is not in it", { ...packed, dependencies: { ...packed.dependencies, x: "1" } }, "lacks x"],
    ["a dependency that is not needed", { ...packed, dependencies: { jose: "^1" } }, "has undici"],
  ])("%s is found", async (_, manifestOfPackage, problem) => {
    const problems = await sbomProblems(text(toSbom(found, peers)), manifestOfPackage);
    expect(problems).toEqual([expect.stringContaining(problem)]);
  });

  test("a component without a license or a hash is found, and a document that the schema forbids", async () => {
    const { licenses: _, ...unlicensed } = component("jose");
    const sbom = toSbom({ ...found, components: [component("undici"), unlicensed] }, peers);
    expect(await sbomProblems(text(sbom), packed)).toEqual(["sbom.cdx.json has no license or no hash of jose"]);
    expect(await sbomProblems(text({ ...sbom, extra: true }), packed)).toEqual([
      expect.stringContaining("is not CycloneDX 1.6"),
    ]);
  });
});

describe("workflow files", () => {
  test.each([
    ["uses: actions/checkout@v6", "a.yml:1: not pinned as OWNER/NAME@COMMIT # vX.Y.Z: actions/checkout@v6"],
    [`uses: actions/checkout@${HASH}`, `a.yml:1: not pinned as OWNER/NAME@COMMIT # vX.Y.Z: actions/checkout@${HASH}`],
    ["container: debian:bookworm", "a.yml:1: no digest: debian:bookworm"],
  ])("%s is refused", (line, problem) => {
    expect(pinProblems({ "a.yml": line })).toEqual([problem]);
  });

  test("an action has one pin in all files, also for its parts", () => {
    const one = `  - uses: github/codeql-action/init@${HASH} # v4.1.0`;
    const other = `    uses: github/codeql-action/analyze@${"1".repeat(40)} # v4.1.1`;
    expect(pinProblems({ "a.yml": one, "b.yml": one.replace("init", "analyze") })).toEqual([]);
    expect(pinProblems({ "a.yml": one, "b.yml": `\n${other}` })).toEqual([
      `b.yml:2: another file has github/codeql-action@${HASH} # v4.1.0`,
    ]);
  });
});

describe("git in a container", () => {
  const CHECKOUT = `      - uses: actions/checkout@${HASH} # v6.0.2\n        with:\n          fetch-depth: 0\n`;
  const TRUST = '      - run: git config --system --add safe.directory "$GITHUB_WORKSPACE"\n';
  const REST = "      - run: git status\n";

  test.each<[string, string, boolean]>([
    ["trusts what was checked out before it", CHECKOUT + TRUST + REST, true],
    ["that trusts it later is refused", CHECKOUT + REST + TRUST, false],
    ["that does not trust it is refused", CHECKOUT, false],
    ["that checks out nothing is left alone", REST, true],
  ])("%s", (_what, steps, isRight) => {
    const problems = ownerProblems({ "a.yml": `jobs:\n  run:\n    container: debian\n    steps:\n${steps}` });
    expect(problems).toHaveLength(isRight ? 0 : 1);
  });

  test("is not meant outside of one", () => {
    expect(ownerProblems({ "a.yml": `jobs:\n  run:\n    steps:\n${CHECKOUT}${REST}` })).toEqual([]);
  });

  test("git refuses what belongs to another user, and accepts it after this command", async () => {
    const repository = await mkdtemp(join(folder, "repository-"));
    const run = promisify(execFile);
    await run("git", ["init", "--quiet", repository]);
    // What git does if the owner of the folder is another user.
    const env = { PATH: process.env["PATH"], HOME: repository, GIT_TEST_ASSUME_DIFFERENT_OWNER: "1" };
    const system = { ...env, GIT_CONFIG_SYSTEM: join(repository, "system"), GITHUB_WORKSPACE: repository };
    const git = (command: string) => run("sh", ["-ec", command], { cwd: repository, env: system });
    await expect(git("git status")).rejects.toThrow("dubious ownership");
    await git(/- run: (git .*)\n/.exec(TRUST)?.[1] ?? "");
    await expect(git("git status")).resolves.toBeDefined();
  });
});

test("two tarballs that differ are told apart by their files", async () => {
  const pack = async (content: string) => {
    const place = await mkdtemp(join(folder, "tarball-"));
    await mkdir(join(place, "package"));
    await writeFile(join(place, "package/same.js"), "same");
    await writeFile(join(place, "package/index.js"), content);
    const args = ["--sort=name", "--mtime=@0", "-czf", join(place, "x.tgz"), "-C", place, "package"];
    await promisify(execFile)("tar", args);
    return join(place, "x.tgz");
  };
  const one = await pack("1");
  expect(await differences(one, await pack("1"))).toEqual([]);
  expect(await differences(one, await pack("2"))).toEqual(["x.tgz has other bytes each time: package/index.js"]);
  expect(await differences(one, join(folder, "none.tgz"))).toEqual(["x.tgz was not packed again"]);
});

test("what an earlier build left is not published", async () => {
  const project = await mkdtemp(join(folder, "built-"));
  const kept = [
    "src/a/one.ts",
    "dist/.tsbuildinfo",
    "dist/index.js",
    "dist/index.js.map",
    "dist/a/one.d.ts",
    "dist/a/one.d.ts.map",
  ];
  const left = [
    "dist/old-shared.js",
    "dist/old-shared.js.map",
    "dist/a/renamed.d.ts",
    "dist/a/renamed.d.ts.map",
    "dist/one.d.ts",
  ];
  for (const path of [...kept, ...left]) {
    await mkdir(dirname(join(project, path)), { recursive: true });
    await writeFile(join(project, path), "");
  }
  removeLeftovers(project, new Set(["index.js", "index.js.map"]));
  expect([...kept, ...left].filter((path) => existsSync(join(project, path)))).toEqual(kept);
});

describe("versions", () => {
  test("a tag must be the version of every package, with no changeset left", () => {
    const packages = [
      { name: "@signpost/core", version: "0.2.0" },
      { name: "@signpost/cli", version: "0.1.0" },
    ];
    expect(tagProblems("v0.2.0", packages, ["faster.md"])).toEqual([
      "the tag is v0.2.0, but @signpost/cli has the version 0.1.0",
      ".changeset/faster.md is in no version yet: run `npx changeset version`",
    ]);
    expect(tagProblems("v0.1.0", packages.slice(1), [])).toEqual([]);
  });

  test("a packed package needs the minor version of its published peers, and leaves others alone", () => {
    const peerDependencies = { "@signpost/aws-kms": "0.x", pkcs11js: "^2.1.7" };
    expect(fillPeers({ peerDependencies }, { "@signpost/aws-kms": "0.3.1" })).toEqual({
      peerDependencies: { "@signpost/aws-kms": "^0.3.1", pkcs11js: "^2.1.7" },
    });
    expect(fillPeers({}, { "@signpost/aws-kms": "0.3.1" })).toEqual({});
  });

  test("a first entry of a CHANGELOG is text, later ones are lists, and none has a hash", async () => {
    expect(await getReleaseLine({ summary: "First release: sign.\n\n- Keys.\n" })).toBe(
      "First release: sign.\n\n- Keys.\n",
    );
    expect(await getReleaseLine({ summary: "Faster.\n\nTwice." })).toBe("- Faster.\n\n  Twice.");
  });

  test("updated dependencies are one line, and none in the first release", async () => {
    const release = (name: string, oldVersion: string) => ({ name, oldVersion, newVersion: "0.2.0" });
    expect(await getDependencyReleaseLine([], [release("@signpost/core", "0.0.0")])).toBe("");
    expect(
      await getDependencyReleaseLine([], [release("@signpost/core", "0.1.0"), release("@signpost/verify", "0.1.0")]),
    ).toBe("- Now with @signpost/core 0.2.0, @signpost/verify 0.2.0");
  });
});
