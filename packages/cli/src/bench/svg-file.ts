import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { access, lstat, readFile, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { CliError } from "../program/cli-error.ts";
import { EXIT } from "../program/exit-codes.ts";
import { SVG_MARK } from "./svg.ts";

/** A file for a picture. */
export interface SvgFile {
  write(svg: string): Promise<void>;
}

/** Finds out whether the file may be written, before anything is measured. Only a picture of this command is replaced. */
export async function openSvgFile(name: string, cwd: string): Promise<SvgFile> {
  const given = resolve(cwd, name);
  const isThere = await lstat(given).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw unwritable(name, error);
    },
  );
  const fail = (error: unknown): never => {
    throw unwritable(name, error);
  };
  // A link stays, and what it leads to is replaced.
  const path = isThere ? await realpath(given).catch(fail) : given;
  if (isThere && !(await isPicture(path).catch(fail))) {
    throw new CliError(EXIT.usage, "file_exists", `${name} exists, and signpost did not write it`, {
      hint: "Move it, or name another file",
    });
  }
  await access(dirname(path), constants.W_OK).catch(fail);
  return {
    write: async (svg) => {
      const written = `${path}.${randomUUID()}`;
      try {
        await writeFile(written, svg);
        await rename(written, path);
      } catch (error) {
        await rm(written, { force: true }).catch(() => undefined);
        throw unwritable(name, error);
      }
    },
  };
}

/** More than a picture ever has. */
const MAX_BYTES = 1_048_576;

/** Whether this command wrote it. A FIFO or a device is not read: it may never end. */
async function isPicture(path: string): Promise<boolean> {
  const stats = await stat(path);
  return stats.isFile() && stats.size <= MAX_BYTES && (await readFile(path)).includes(SVG_MARK);
}

function unwritable(name: string, cause: unknown): CliError {
  const code = String(Reflect.get(Object(cause), "code"));
  return new CliError(EXIT.usage, "file_unwritable", `${name}: cannot be written (${code})`, { cause });
}
