import { randomUUID } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { CliError } from "../program/cli-error.ts";
import { EXIT } from "../program/exit-codes.ts";
import { MARK, type StaticFile } from "./static-files.ts";

/** Writes files below a folder, each in one step. A file that was not written by this command is never replaced. */
export async function writeFiles(folder: string, files: readonly StaticFile[]): Promise<void> {
  for (const { path } of files) await requireOurs(join(folder, path), path);
  for (const { path, content } of files) await replace(join(folder, path), content);
}

async function requireOurs(file: string, path: string): Promise<void> {
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw unwritable(path, error);
  });
  if (text === undefined || text.includes(MARK) || text.startsWith('{"keys":[')) return;
  throw new CliError(EXIT.usage, "file_exists", `${path} exists, and signpost did not write it`, {
    hint: "Move it, or name another folder",
  });
}

async function replace(file: string, content: Uint8Array | string): Promise<void> {
  const written = `${file}.${randomUUID()}`;
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(written, content);
    await rename(written, file);
  } catch (error) {
    await rm(written, { force: true }).catch(() => undefined);
    throw unwritable(file, error);
  }
}

function unwritable(path: string, cause: unknown): CliError {
  const code = String(Reflect.get(Object(cause), "code"));
  return new CliError(EXIT.usage, "file_unwritable", `${path}: cannot be written (${code})`, { cause });
}
