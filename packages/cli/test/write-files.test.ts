import { hash } from "node:crypto";
import type * as Files from "node:fs/promises";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { documentMark, HEADER_RULES, MARK, staticFiles } from "../src/jwks/static-files.ts";
import { writeFiles } from "../src/jwks/write-files.ts";
import { createKeyFolder, type KeyFolder } from "./support/key-folder.ts";

// What `signpost jwks --out` writes, and what it replaces.

/** What the file system does when a file gets its name. */
const fake = vi.hoisted(() => ({ fails: false }));
vi.mock("node:fs/promises", async (original) => {
  const files = await original<typeof Files>();
  return {
    ...files,
    // Slow, as on a network.
    writeFile: async (...args: Parameters<typeof files.writeFile>) => {
      for (let turn = 0; turn < 20; turn += 1) await setImmediate();
      return files.writeFile(...args);
    },
    rename: async (...args: Parameters<typeof files.rename>) => {
      if (fake.fails) throw Object.assign(new Error("read-only"), { code: "EROFS" });
      return files.rename(...args);
    },
  };
});

let folder: KeyFolder;
beforeEach(async () => {
  fake.fails = false;
  folder = await createKeyFolder();
  onTestFinished(() => folder[Symbol.asyncDispose]());
});

const BODY = Buffer.from('{"keys":[]}');
const DOCUMENT = {
  pathname: "/op/jwks",
  body: BODY,
  contentType: "application/jwk-set+json",
  cacheControl: "public, max-age=3600",
};
const text = (path: string): Promise<string> => readFile(join(folder.path, path), "utf8");

test("the document is at its path, next to the headers that a host must send with it", async () => {
  await writeFiles(folder.path, staticFiles(DOCUMENT));
  expect((await readdir(folder.path, { recursive: true })).toSorted()).toEqual([
    "gcs.sh",
    "public",
    "public/_headers",
    "public/op",
    "public/op/jwks",
    "s3.sh",
  ]);
  expect(await text("public/op/jwks")).toBe('{"keys":[]}');
  expect(await text("public/_headers")).toBe(
    [
      MARK,
      `# Document with the SHA-256 ${hash("sha256", BODY, "hex")}`,
      "/op/jwks",
      "  Content-Type: application/jwk-set+json",
      "  Cache-Control: public, max-age=3600",
      "",
    ].join("\n"),
  );
});

test.each([
  ["s3.sh", 'aws s3 cp "$folder/public/op/jwks" "s3://$1/op/jwks"', " "],
  ["gcs.sh", 'gcloud storage cp "$folder/public/op/jwks" "gs://$1/op/jwks"', "="],
])("%s uploads the document with its headers, and needs a bucket", async (path, command, between) => {
  await writeFiles(folder.path, staticFiles(DOCUMENT));
  expect(await text(path)).toBe(
    [
      "#!/bin/sh",
      MARK,
      'test $# -eq 1 || { echo "usage: $0 BUCKET" >&2; exit 2; }',
      'folder=$(dirname "$0")',
      `${command} \\`,
      `  --content-type${between}'application/jwk-set+json' \\`,
      `  --cache-control${between}'public, max-age=3600'`,
      "",
    ].join("\n"),
  );
});

const FILE = { path: "a/b.txt", content: "new" };

test.each([
  ["that has the mark", `${MARK}\nold`],
  ["that has the same content", "new"],
])("a file %s is replaced", async (_what, content) => {
  await mkdir(join(folder.path, "a"));
  await folder.write("a/b.txt", content);
  await writeFiles(folder.path, [FILE]);
  expect(await text("a/b.txt")).toBe("new");
});

test.each<[what: string, rules: string | undefined]>([
  ["without header rules", undefined],
  ["whose hash is in rules of another program", documentMark(Buffer.from("old"))],
  ["whose hash is not in our rules", `${MARK}\n${documentMark(Buffer.from("other"))}`],
])("a file %s is not replaced, and no other is written", async (_what, rules) => {
  await mkdir(join(folder.path, "a"));
  await mkdir(join(folder.path, "public"));
  await folder.write("a/b.txt", "old");
  if (rules !== undefined) await folder.write(HEADER_RULES, rules);
  await expect(writeFiles(folder.path, [{ path: "first.txt", content: "new" }, FILE])).rejects.toMatchObject({
    exitCode: 2,
    code: "file_exists",
    message: "a/b.txt exists, and signpost did not write it",
    hint: "Move it, or name another folder",
  });
  expect(await text("a/b.txt")).toBe("old");
  expect(await readdir(folder.path)).not.toContain("first.txt");
});

test("a document whose hash is in our rules is replaced", async () => {
  await mkdir(join(folder.path, "a"));
  await mkdir(join(folder.path, "public"));
  await folder.write("a/b.txt", "old");
  await folder.write(HEADER_RULES, `${MARK}\n${documentMark(Buffer.from("old"))}`);
  await writeFiles(folder.path, [FILE]);
  expect(await text("a/b.txt")).toBe("new");
});

test("what cannot be read is not taken for a place that is free", async () => {
  await mkdir(join(folder.path, "a/b.txt"), { recursive: true });
  await expect(writeFiles(folder.path, [FILE])).rejects.toMatchObject({
    exitCode: 2,
    code: "file_unwritable",
    message: "a/b.txt: cannot be written (EISDIR)",
  });
});

test("a file that cannot get its name leaves nothing behind", async () => {
  fake.fails = true;
  await expect(writeFiles(folder.path, [FILE])).rejects.toMatchObject({
    code: "file_unwritable",
    message: `${join(folder.path, "a/b.txt")}: cannot be written (EROFS)`,
  });
  expect(await readdir(join(folder.path, "a"))).toEqual([]);
});
