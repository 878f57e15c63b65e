import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { publicPackages } from "../../scripts/lib/workspace.mjs";

// `changeset version` in a copy of the manifests: which versions it sets, and what the CHANGELOGs look like.

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const MANIFESTS = ["packages", "examples", "test"];

let clone = "";
beforeAll(async () => {
  clone = await mkdtemp(join(tmpdir(), "signpost-changelogs-"));
});
afterAll(() => rm(clone, { recursive: true }));

async function run(command: string, ...args: readonly string[]): Promise<void> {
  await promisify(execFile)(command, args, { cwd: clone });
}

/** Copies the manifests, as if version 0.1.0 was released. */
async function copyManifests(): Promise<void> {
  const files = ["package.json", "pnpm-workspace.yaml", ".changeset/config.json", "scripts/release/changelog.mjs"];
  for (const parent of MANIFESTS) {
    for (const name of await readdir(join(ROOT, parent))) files.push(join(parent, name, "package.json"));
  }
  for (const file of files.filter((path) => existsSync(join(ROOT, path))))
    await cp(join(ROOT, file), join(clone, file));
  for (const { folder } of publicPackages()) {
    const text = await readFile(join(clone, folder, "package.json"), "utf8");
    const released = text.replace(/"version": ".*"/, '"version": "0.1.0"');
    await writeFile(join(clone, folder, "package.json"), released);
  }
  await symlink(join(ROOT, "node_modules"), join(clone, "node_modules"));
}

test("all packages get the same version, and each CHANGELOG reads well", async () => {
  await copyManifests();
  await writeFile(
    join(clone, ".changeset/a.md"),
    '---\n"@signpost/aws-kms": minor\n---\n\nKeys in two Regions.\n\nMore.\n',
  );
  await writeFile(join(clone, ".changeset/b.md"), '---\n"@signpost/core": patch\n---\n\nA limiter frees each slot.\n');
  await run("git", "init", "-q", "-b", "main", ".");
  await run("git", "add", "packages", ".changeset");
  await run("git", "-c", "user.name=test", "-c", "user.email=test@example.org", "commit", "-q", "-m", "test");
  await run(join(ROOT, "node_modules/.bin/changeset"), "version");

  for (const { folder, name } of publicPackages()) {
    const manifest = JSON.parse(await readFile(join(clone, folder, "package.json"), "utf8")) as object;
    expect(manifest).toMatchObject({ name, version: "0.2.0" });
  }
  const read = (name: string) => readFile(join(clone, "packages", name, "CHANGELOG.md"), "utf8");
  expect(await read("core")).toBe(
    "# @signpost/core\n\n## 0.2.0\n\n### Patch Changes\n\n- A limiter frees each slot.\n",
  );
  expect(await read("aws-kms")).toBe(
    "# @signpost/aws-kms\n\n## 0.2.0\n\n### Minor Changes\n\n- Keys in two Regions.\n\n  More.\n\n" +
      "### Patch Changes\n\n- Now with @signpost/core 0.2.0\n",
  );
  expect(await read("cli")).toBe(
    "# @signpost/cli\n\n## 0.2.0\n\n### Patch Changes\n\n- Now with @signpost/core 0.2.0, @signpost/verify 0.2.0\n",
  );
});
