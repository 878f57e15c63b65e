import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { listTestFiles, readTestName } from "../../scripts/lib/test-files.mjs";
import { describeSoaks, readTier } from "../../scripts/lib/tests.mjs";
import { publicPackages } from "../../scripts/lib/workspace.mjs";

test.each([
  ["sign.test.ts", "fast", []],
  ["sign.softhsm.cc.test.ts", "fast", ["softhsm", "cc"]],
  ["load.soak.test.ts", "soak", []],
  ["load.soak.softhsm.cc.test.ts", "soak", ["softhsm", "cc"]],
  // What a test is called is for people.
  ["soak.softhsm.test.ts", "fast", ["softhsm"]],
] as const)("the name %s says: tier %s, backends %s", (name, tier, backends) => {
  expect(readTestName(name)).toEqual({ tier, backends });
});

test("--soak is an argument of npm test, and all others are vitest's", () => {
  expect(readTier(["packages/core", "-t", "ETag"])).toEqual({ tier: "fast", rest: ["packages/core", "-t", "ETag"] });
  expect(readTier(["packages/core", "--soak", "-t", "ETag"])).toEqual({
    tier: "soak",
    rest: ["packages/core", "-t", "ETag"],
  });
});

test("soak files that are not run are counted, with the command that runs them", () => {
  const soaks = listTestFiles().filter(({ tier }) => tier === "soak");
  expect(soaks.length).toBeGreaterThan(1);
  expect(describeSoaks([])).toBe(`Not run: ${soaks.length} soak files. To run: npm test -- --soak`);

  const [{ path } = { path: "" }] = soaks;
  expect(describeSoaks([path, "-t", "two words"])).toBe(
    `Not run: 1 soak file. To run: npm test -- --soak ${path} -t "two words"`,
  );
  expect(describeSoaks(["packages/core/test/options"])).toBeUndefined();
});

test("a file whose backend is not available is in no project of vitest", async () => {
  const path = "packages/aws-kms/test/emulator.localkms.test.ts";
  const list = async (excluded: readonly string[]): Promise<string> => {
    const env = { ...process.env, SIGNPOST_EXCLUDE: JSON.stringify(excluded) };
    const args = ["node_modules/vitest/vitest.mjs", "list", "packages/aws-kms/test/emulator", "--filesOnly"];
    const root = fileURLToPath(new URL("../..", import.meta.url));
    return (await promisify(execFile)(process.execPath, args, { cwd: root, env })).stdout;
  };
  expect((await list([])).split(path)).toHaveLength(3);
  expect(await list([path])).not.toContain(path);
});

test("CONTRIBUTING names a quick set for each package, of tests that are there", () => {
  const page = readFileSync(new URL("../../CONTRIBUTING.md", import.meta.url), "utf8");
  const sets = [...page.matchAll(/^\| ([a-z0-9-]+) \| `(packages\/[^`]+)`/gm)].map(([, name = "", args = ""]) => ({
    name: `@signpost/${name}`,
    paths: args.split(" ").filter((arg) => arg.startsWith("packages/")),
  }));
  expect(sets.map(({ name }) => name).toSorted()).toEqual(
    publicPackages()
      .map(({ name }) => name)
      .toSorted(),
  );
  for (const path of sets.flatMap(({ paths }) => paths)) {
    expect(
      listTestFiles([path]).filter(({ tier }) => tier === "fast"),
      path,
    ).not.toEqual([]);
  }
});
