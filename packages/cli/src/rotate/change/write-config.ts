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
    const unfinished = unfinishedPath(target);
    if (await exists(unfinished)) throw changing(unfinished);
  } catch (error) {
    throw error instanceof CliError ? error : unwritable(path, error);
  }
}

/** What a file will contain. The name is the same for all, so that of two programs only one compares and replaces at a time. */
function unfinishedPath(target: string): string {
  return join(dirname(target), `.${basename(target)}.signpost`);
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/**
 * Replaces what is in a file in one step: readers see the old file or the new one, whole. A symbolic link stays one, and the file keeps
 * its mode and its owner. A file that no longer contains `before` is not replaced.
 */
export async function replaceFile(path: string, before: Uint8Array, after: Uint8Array): Promise<void> {
  try {
    const target = await realpath(path);
    const written = unfinishedPath(target);
    const handle = await createNew(written);
    try {
      await writeLike(target, handle, after);
      await requireUnchanged(target, before);
      await rename(written, target);
    } catch (error) {
      await rm(written, { force: true }).catch(() => undefined);
      throw error;
    }
  } catch (error) {
    throw error instanceof CliError ? error : unwritable(path, error);
  }
}

async function createNew(path: string): Promise<FileHandle> {
  try {
    return await open(path, "wx", 0o600);
  } catch (cause) {
    throw Reflect.get(Object(cause), "code") === "EEXIST" ? changing(path) : cause;
  }
}

function changing(path: string): CliError {
  return new CliError(EXIT.usage, "file_changing", `${path} is there, so another command changes the file now`, {
    hint: "Run the command again. If no other command runs, one was killed: remove that file",
  });
}

/** Writes a new file with the mode and the owner of another, and closes it. */
async function writeLike(target: string, handle: FileHandle, content: Uint8Array): Promise<void> {
  try {
    const { mode, uid, gid } = await stat(target);
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
