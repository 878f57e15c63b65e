import { randomUUID } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { CliError } from "../program/cli-error.ts";
import { EXIT } from "../program/exit-codes.ts";
import { documentMark, HEADER_RULES, MARK, type StaticFile } from "./static-files.ts";

/** Writes files below a folder, each in one step. A file that was not written by this command is never replaced. */
export async function writeFiles(folder: string, files: readonly StaticFile[]): Promise<void> {
  for (const file of files) await requireOurs(folder, file);
  for (const { path, content } of files) await replace(join(folder, path), content);
}

async function requireOurs(folder: string, { path, content }: StaticFile): Promise<void> {
  const old = await readOld(folder, path);
  if (old === undefined || old.includes(MARK) || old.equals(Buffer.from(content))) return;
  const rules = await readOld(folder, HEADER_RULES);
  if (rules?.includes(MARK) === true && rules.includes(documentMark(old))) return;
  throw new CliError(EXIT.usage, "file_exists", `${path} exists, and signpost did not write it`, {
    hint: "Move it, or name another folder",
  });
}

/** Undefined: there is no such file. */
function readOld(folder: string, path: string): Promise<Buffer | undefined> {
  return readFile(join(folder, path)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw unwritable(path, error);
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
