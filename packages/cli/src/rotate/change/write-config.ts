import { randomUUID } from "node:crypto";
import { access, constants, open, readFile, realpath, rename, rm, stat, type FileHandle } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { CliError } from "../../program/cli-error.ts";
import { EXIT } from "../../program/exit-codes.ts";

/** Refuses early, before anyone is asked, what cannot be written. */
export async function requireWritable(path: string): Promise<void> {
  try {
    const target = await realpath(path);
    await access(dirname(target), constants.W_OK);
    // A folder that can be written is enough to replace a file that is meant to stay.
    await access(target, constants.W_OK);
  } catch (cause) {
    throw unwritable(path, cause);
  }
}

/**
 * Replaces what is in a file in one step: readers see the old file or the new one, whole. A symbolic link stays one, and the file keeps
 * its mode and its owner. A file that no longer contains `before` is not replaced.
 */
export async function replaceFile(path: string, before: Uint8Array, after: Uint8Array): Promise<void> {
  let written: string | undefined;
  try {
    const target = await realpath(path);
    written = join(dirname(target), `.${basename(target)}.${randomUUID()}`);
    await writeLike(target, written, after);
    await requireUnchanged(target, before);
    await rename(written, target);
  } catch (error) {
    if (written !== undefined) await rm(written, { force: true }).catch(() => undefined);
    throw error instanceof CliError ? error : unwritable(path, error);
  }
}

/** Writes a new file with the mode and the owner of another. */
async function writeLike(target: string, path: string, content: Uint8Array): Promise<void> {
  const { mode, uid, gid } = await stat(target);
  const handle = await open(path, "wx", 0o600);
  try {
    await handle.writeFile(content);
    await keepOwner(handle, uid, gid);
    // After the owner, whose change clears some bits.
    await handle.chmod(mode & 0o7777);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function keepOwner(handle: FileHandle, uid: number, gid: number): Promise<void> {
  const made = await handle.stat();
  if (made.uid !== uid || made.gid !== gid) await handle.chown(uid, gid);
}

async function requireUnchanged(target: string, before: Uint8Array): Promise<void> {
  if (Buffer.compare(await readFile(target), before) === 0) return;
  throw new CliError(EXIT.usage, "file_changed", `${basename(target)} was changed meanwhile, and is not overwritten`, {
    hint: "Run the command again",
  });
}

function unwritable(path: string, cause: unknown): CliError {
  const code = String(Reflect.get(Object(cause), "code"));
  return new CliError(EXIT.usage, "file_unwritable", `${path}: cannot be written (${code})`, {
    cause,
    hint: "--dry-run shows the change without writing it",
  });
}
