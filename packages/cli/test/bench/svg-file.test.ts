import { mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SVG_MARK } from "../../src/bench/svg.ts";
import { openSvgFile } from "../../src/bench/svg-file.ts";
import { createKeyFolder, type KeyFolder } from "../support/key-folder.ts";

// Which file a picture may replace, and what is left if it cannot.

const MOST = 1_048_576;
let folder: KeyFolder;
beforeAll(async () => {
  folder = await createKeyFolder();
});
afterAll(() => folder[Symbol.asyncDispose]());
const within = (name: string): string => join(folder.path, name);
const write = async (name: string, svg: string): Promise<void> => (await openSvgFile(name, folder.path)).write(svg);

test("a new file is written whole, and nothing else", async () => {
  await mkdir(within("new"));
  await write("new/a.svg", "<svg/>");
  expect(await readdir(within("new"))).toEqual(["a.svg"]);
  expect(await readFile(within("new/a.svg"), "utf8")).toBe("<svg/>");
});

test("a name may be absolute", async () => {
  await (await openSvgFile(within("absolute.svg"), "/nowhere")).write("<svg/>");
  expect(await readFile(within("absolute.svg"), "utf8")).toBe("<svg/>");
});

test.each<[what: string, content: string, isReplaced: boolean]>([
  ["a picture of this command", `<svg>${SVG_MARK}</svg>`, true],
  ["another picture", "<svg></svg>", false],
  ["nothing", "", false],
  ["a picture of this command that is as long as may be", SVG_MARK.padEnd(MOST), true],
  ["one that is longer", SVG_MARK.padEnd(MOST + 1), false],
])("a file with %s is replaced: %s", async (_what, content, isReplaced) => {
  await writeFile(within("old.svg"), content);
  if (isReplaced) await write("old.svg", "<svg/>");
  else {
    await expect(openSvgFile("old.svg", folder.path)).rejects.toMatchObject({
      exitCode: 2,
      code: "file_exists",
      message: "old.svg exists, and signpost did not write it",
      hint: "Move it, or name another file",
    });
  }
  expect(await readFile(within("old.svg"), "utf8")).toBe(isReplaced ? "<svg/>" : content);
});

test.each<[what: string, name: string, code: string]>([
  ["in a folder that is not there", "none/a.svg", "ENOENT"],
  ["below a file", "file/a.svg", "ENOTDIR"],
  ["behind a link that leads nowhere", "link.svg", "ENOENT"],
])("a file %s is refused before anything is measured", async (_what, name, code) => {
  await writeFile(within("file"), "");
  await symlink("nowhere.svg", within("link.svg")).catch(() => undefined);
  await expect(openSvgFile(name, folder.path)).rejects.toMatchObject({
    exitCode: 2,
    code: "file_unwritable",
    message: `${name}: cannot be written (${code})`,
    cause: { code },
  });
});

test("what cannot take the place of the file is removed", async () => {
  await mkdir(within("late"));
  const file = await openSvgFile("late/a.svg", folder.path);
  // A folder came there meanwhile.
  await mkdir(within("late/a.svg"));
  await expect(file.write("<svg/>")).rejects.toMatchObject({
    code: "file_unwritable",
    message: "late/a.svg: cannot be written (EISDIR)",
    cause: { code: "EISDIR" },
  });
  expect(await readdir(within("late"))).toEqual(["a.svg"]);
  await rm(within("late"), { recursive: true });
  await expect(file.write("<svg/>")).rejects.toMatchObject({ message: "late/a.svg: cannot be written (ENOENT)" });
});
