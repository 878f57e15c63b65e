import { constants, type FileHandle, open, stat } from "node:fs/promises";
import { ConfigurationError } from "../errors.ts";
import { createFileAccess } from "./file-access.ts";

/** In this thread. */
const access = createFileAccess<Uint8Array>();

/**
 * The bytes of a regular file. Reading a FIFO or a device may never return or never end, so these are refused before they
 * are opened. A path has one read in progress at most, and a thread reads at most two files at a time: the reads of a mount
 * that hangs must not block all file access of the process.
 *
 * @throws ConfigurationError if the path does not lead to a regular file, or the file has more than `maxBytes`. The
 * message contains `argument`, not the path. Throws the system's error if the file cannot be read.
 * @example
 * ```ts
 * import { readRegularFile } from "@signpost/core/adapter";
 *
 * const pem = await readRegularFile("key", "/run/secrets/key.pem", 65_536);
 * ```
 */
export async function readRegularFile(argument: string, path: string, maxBytes: number): Promise<Uint8Array> {
  const bytes = await access(JSON.stringify([argument, path, maxBytes]), () => read(argument, path, maxBytes));
  // Another caller may have the same bytes.
  return new Uint8Array(bytes);
}

async function read(argument: string, path: string, maxBytes: number): Promise<Uint8Array> {
  // Checked before it is opened, since just opening some devices has side effects.
  requireRegular(argument, await stat(path));
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    requireRegular(argument, await file.stat());
    return await readBounded(argument, file, maxBytes);
  } finally {
    await file.close();
  }
}

async function readBounded(argument: string, file: FileHandle, maxBytes: number): Promise<Uint8Array> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(maxBytes + 1), 0, maxBytes + 1, 0);
  if (bytesRead > maxBytes) throw new ConfigurationError(argument, `expected a file of at most ${maxBytes} bytes`);
  return buffer.subarray(0, bytesRead);
}

function requireRegular(argument: string, stats: { isFile(): boolean }): void {
  if (!stats.isFile()) throw new ConfigurationError(argument, "expected a regular file, not a FIFO, device or folder");
}
