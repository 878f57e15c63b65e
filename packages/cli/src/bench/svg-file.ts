import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { access, readFile, rename, rm, writeFile } from "node:fs/promises";
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
  const path = resolve(cwd, name);
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw unwritable(name, error);
  });
  if (text !== undefined && !text.includes(SVG_MARK)) {
    throw new CliError(EXIT.usage, "file_exists", `${name} exists, and signpost did not write it`, {
      hint: "Move it, or name another file",
    });
  }
  await access(dirname(path), constants.W_OK).catch((error: unknown) => {
    throw unwritable(name, error);
  });
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

function unwritable(name: string, cause: unknown): CliError {
  const code = String(Reflect.get(Object(cause), "code"));
  return new CliError(EXIT.usage, "file_unwritable", `${name}: cannot be written (${code})`, { cause });
}
