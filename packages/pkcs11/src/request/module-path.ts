import { open, realpath, stat } from "node:fs/promises";
import { ConfigurationError } from "@signpost/core";
import { memberOf } from "@signpost/core/adapter";
import { createInFlight } from "./in-flight.ts";
import { mayHoldPin, shown } from "./misplaced-pin.ts";

// What the first bytes of a shared library are: ELF, the five kinds of Mach-O, and PE.
const LIBRARY_MAGIC = ["7f454c46", "cffaedfe", "cefaedfe", "feedfacf", "feedface", "cafebabe"];

/** By path: the path without symbolic links, and how the file there begins. */
const realPath = createInFlight<string>();
const start = createInFlight<string>();

/** @throws ConfigurationError for what can be no path. */
export function requireModulePath(path: unknown): string {
  if (typeof path === "string" && path !== "" && !path.includes("\0")) return path;
  throw new ConfigurationError("module", "expected the path of a PKCS#11 library");
}

/**
 * The path without symbolic links, so that one module has one name in the process. What is no library is refused here,
 * before the loader of the system sees it, and so is one that is not among the allowed ones, where there are such.
 *
 * @throws ConfigurationError
 */
export async function readModulePath(path: string, allowed?: readonly string[]): Promise<string> {
  const unreadable = (cause: unknown): never => {
    const code = memberOf(cause, "code");
    const why = typeof code === "string" ? code : "no regular file";
    throw new ConfigurationError(
      "module",
      `expected the path of a PKCS#11 library, got ${shown(path)}, which cannot be read (${why})`,
      // The system's error repeats the path.
      mayHoldPin(path) ? undefined : { cause },
    );
  };
  const found = realPath(path, () => realpath(path));
  // A path that is not allowed is not told apart from one that is not there. One that the list has as it is may be.
  const isListed = allowed === undefined || allowed.includes(path);
  const real = await (isListed ? found.catch(unreadable) : found.catch(() => undefined));
  if (allowed !== undefined) await requireAllowed(path, real, allowed);
  if (real === undefined) return unreadable(undefined);
  const magic = await start(real, () => firstBytes(real)).catch(unreadable);
  if (!LIBRARY_MAGIC.includes(magic) && !magic.startsWith("4d5a")) {
    throw new ConfigurationError(
      "module",
      `expected the path of a PKCS#11 library, but ${shown(path)} is no shared library`,
    );
  }
  return real;
}

/** What a path leads to counts, not how it is written: real paths are compared, as they are now. */
async function requireAllowed(path: string, real: string | undefined, allowed: readonly string[]): Promise<void> {
  const paths = await Promise.all(allowed.map((each) => realPath(each, () => realpath(each)).catch(() => undefined)));
  if (real !== undefined && paths.includes(real)) return;
  throw new ConfigurationError("allowedModules", `expected a module that is in the list, got ${shown(path)}`);
}

async function firstBytes(path: string): Promise<string> {
  // To open a pipe or a device may take for ever.
  if (!(await stat(path)).isFile()) throw new Error("no regular file");
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0);
    return buffer.subarray(0, bytesRead).toString("hex");
  } finally {
    await file.close();
  }
}
