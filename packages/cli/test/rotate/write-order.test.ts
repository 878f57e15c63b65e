import type { FileHandle } from "node:fs/promises";
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { replaceFile, requireWritable } from "../../src/rotate/change/write-config.ts";

// What happens to the new file before it takes the place of the old one, step by step.

const disk = vi.hoisted(() => ({
  steps: [] as string[],
  /** The step that fails. */
  fails: "",
  owner: undefined as { uid: number; gid: number } | undefined,
}));
vi.mock("node:fs/promises", async (importOriginal) => {
  const fs = await importOriginal<typeof import("node:fs/promises")>();
  const step = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    disk.steps.push(`${name} begins`);
    // Long enough for whatever does not wait for it.
    await new Promise((resolve) => setImmediate(resolve));
    if (disk.fails === name) throw Object.assign(new Error("it failed"), { code: "EIO" });
    const result = await work();
    disk.steps.push(`${name} ends`);
    return result;
  };
  const watched = (handle: FileHandle): FileHandle =>
    ({
      stat: async () => ({ ...(await handle.stat()), ...disk.owner }),
      writeFile: (content: Uint8Array) => step("write", () => handle.writeFile(content)),
      chown: (uid: number, gid: number) => step(`chown ${uid} ${gid}`, async () => undefined),
      chmod: (mode: number) => step("chmod", () => handle.chmod(mode)),
      sync: () => step("sync", () => handle.sync()),
      close: () => step("close", () => handle.close()),
    }) as unknown as FileHandle;
  return {
    ...fs,
    open: async (...args: Parameters<typeof fs.open>) => watched(await fs.open(...args)),
    rename: (from: string, to: string) => step("rename", () => fs.rename(from, to)),
  };
});

let folder: string;
let path: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "signpost-write-"));
  path = join(folder, "op.json");
});
afterAll(() => rm(folder, { recursive: true }));
beforeEach(async () => {
  Object.assign(disk, { fails: "", owner: undefined });
  disk.steps.length = 0;
  await writeFile(path, "before");
  await chmod(path, 0o640);
});

const replace = (): Promise<void> => replaceFile(path, Buffer.from("before"), Buffer.from("after"));
const both = (name: string): readonly string[] => [`${name} begins`, `${name} ends`];

describe("a file is replaced", () => {
  test("after each step has ended, and keeps its mode", async () => {
    await replace();
    expect(disk.steps).toEqual(["write", "chmod", "sync", "close", "rename"].flatMap(both));
    expect(await readFile(path, "utf8")).toBe("after");
    expect((await stat(path)).mode & 0o7777).toBe(0o640);
    expect(await readdir(folder)).toEqual(["op.json"]);
  });

  test.each([
    ["another user", { uid: 4711 }],
    ["another group", { gid: 4711 }],
  ])("by a new one of %s, which gets its owner before its mode", async (_what, owner) => {
    const { uid, gid } = await stat(path);
    disk.owner = { uid, gid, ...owner };
    await replace();
    expect(disk.steps).toEqual(["write", `chown ${uid} ${gid}`, "chmod", "sync", "close", "rename"].flatMap(both));
  });
});

test.each(["write", "chmod", "sync", "close", "rename"])("nothing is left if %s fails", async (step) => {
  disk.fails = step;
  await expect(replace()).rejects.toMatchObject({
    exitCode: 2,
    code: "file_unwritable",
    message: `${path}: cannot be written (EIO)`,
    hint: "--dry-run shows the change without writing it",
    cause: { message: "it failed" },
  });
  expect(await readFile(path, "utf8")).toBe("before");
  expect(await readdir(folder)).toEqual(["op.json"]);
  expect(disk.steps).toContain("close begins");
});

test("what is there under the name of the new file is another program, for both that look", async () => {
  const unfinished = join(folder, ".op.json.signpost");
  await writeFile(unfinished, "of the other");
  const changing = {
    exitCode: 2,
    code: "file_changing",
    message: `${unfinished} is there, so another command changes the file now`,
  };
  await expect(requireWritable(path)).rejects.toMatchObject(changing);
  await expect(replace()).rejects.toMatchObject(changing);
  expect(await readFile(unfinished, "utf8")).toBe("of the other");
  await rm(unfinished);
  await expect(requireWritable(path)).resolves.toBeUndefined();
});

test.each([
  ["that is not there", "none.json"],
  ["in a folder that is not there", "none/op.json"],
])("a file %s cannot be written", async (_what, name) => {
  const place = join(folder, name);
  const unwritable = { exitCode: 2, code: "file_unwritable", message: `${place}: cannot be written (ENOENT)` };
  await expect(requireWritable(place)).rejects.toMatchObject(unwritable);
  await expect(replaceFile(place, new Uint8Array(), new Uint8Array())).rejects.toMatchObject(unwritable);
});
