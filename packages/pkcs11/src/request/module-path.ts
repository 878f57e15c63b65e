import { open, realpath } from "node:fs/promises";
import { ConfigurationError } from "@signpost/core";
import { memberOf } from "@signpost/core/adapter";
import { mayHoldPin, shown } from "./misplaced-pin.ts";

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
      `expected the path of a PKCS#11 library, got ${shown(path)}, which cannot be read (${String(memberOf(cause, "code"))})`,
      // The system's error repeats the path.
      mayHoldPin(path) ? undefined : { cause },
    );
  }
  if (!LIBRARY_MAGIC.includes(start) && !start.startsWith("4d5a")) {
    throw new ConfigurationError(
      "module",
      `expected the path of a PKCS#11 library, but ${shown(path)} is no shared library`,
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
