import { open, realpath } from "node:fs/promises";
import { ConfigurationError } from "@signpost/core";

// What the first bytes of a shared library are: ELF, the five kinds of Mach-O, and PE.
const LIBRARY_MAGIC = ["7f454c46", "cffaedfe", "cefaedfe", "feedfacf", "feedface", "cafebabe"];

/**
 * The path without symbolic links, so that one module has one name in the process. What is no library is refused here,
 * before the loader of the system sees it.
 *
 * @throws ConfigurationError
 */
export async function readModulePath(path: unknown): Promise<string> {
  if (typeof path !== "string" || path === "" || path.includes("\0")) {
    throw new ConfigurationError("module", "expected the path of a PKCS#11 library");
  }
  let real: string;
  let start: string;
  try {
    real = await realpath(path);
    start = await firstBytes(real);
  } catch (cause) {
    throw new ConfigurationError(
      "module",
      `expected the path of a PKCS#11 library, got ${JSON.stringify(path)}, which cannot be read`,
      { cause },
    );
  }
  if (!LIBRARY_MAGIC.includes(start) && !start.startsWith("4d5a")) {
    throw new ConfigurationError(
      "module",
      `expected the path of a PKCS#11 library, but ${JSON.stringify(path)} is no shared library`,
    );
  }
  return real;
}

async function firstBytes(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0);
    return buffer.subarray(0, bytesRead).toString("hex");
  } finally {
    await file.close();
  }
}
