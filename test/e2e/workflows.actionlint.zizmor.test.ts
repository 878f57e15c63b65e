import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { lintSecurity, lintSyntax } from "../../scripts/gates/workflows.mjs";

// The workflows gate runs two linters. Each finds a mistake of its kind, and neither needs a network.

const WORKFLOW = `name: sample
on:
  push:
    branches: [main]
permissions: {}
concurrency:
  group: sample
  cancel-in-progress: false
jobs:
  test:
    name: Test
    runs-on: ubuntu-24.04
    timeout-minutes: 5
    steps:
      - run: npm test
`;

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "signpost-workflows-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function write(text: string): Promise<string> {
  const file = join(await mkdtemp(join(folder, "sample-")), "sample.yml");
  await writeFile(file, text);
  return file;
}

test("a good workflow passes both", async () => {
  const file = await write(WORKFLOW);
  expect(await lintSyntax([file])).toEqual([]);
  expect(await lintSecurity([file])).toEqual([]);
});

test.each([
  ["a runner that does not exist", WORKFLOW.replace("ubuntu-24.04", "ubuntu-1.0"), /label "ubuntu-1.0" is unknown/],
  ["a key that does not exist", WORKFLOW.replace("timeout-minutes", "timeout"), /unexpected key "timeout"/],
  [
    "a variable that does not exist",
    WORKFLOW.replace("npm test", "echo ${{ github.nothing }}"),
    /property "nothing" is not/,
  ],
])("actionlint finds %s", async (_, text, expected) => {
  expect((await lintSyntax([await write(text)])).join("\n")).toMatch(expected);
});

test.each([
  [
    "text of a stranger in a script",
    WORKFLOW.replace("npm test", "echo ${{ github.event.head_commit.message }}"),
    /template-injection/,
  ],
  [
    "permissions for everything",
    WORKFLOW.replace("permissions: {}", "permissions: write-all"),
    /excessive-permissions/,
  ],
  ["an action that is not pinned", WORKFLOW.replace("run: npm test", "uses: actions/setup-node@v6"), /unpinned-uses/],
  ["credentials that stay on disk", WORKFLOW.replace("run: npm test", "uses: actions/checkout@v6"), /artipacked/],
])("zizmor finds %s", async (_, text, expected) => {
  expect((await lintSecurity([await write(text)])).join("\n")).toMatch(expected);
});
