import { open, realpath, stat } from "node:fs/promises";
import { ConfigurationError } from "@signpost/core";
import { createFileAccess, given, memberOf } from "@signpost/core/adapter";
import { mayHoldPin, shown } from "./misplaced-pin.ts";

// The first bytes of a shared library: ELF, the five kinds of Mach-O, and PE.
const LIBRARY_MAGIC = ["7f454c46", "cffaedfe", "cefaedfe", "feedfacf", "feedface", "cafebabe"];

/** Modules may be on a mount that hangs. */
const access = createFileAccess<string>();

function realPathOf(path: string): Promise<string> {
  return access(`path ${path}`, () => realpath(path));
}

/** @throws ConfigurationError for a value that cannot be a path. */
export function requireModulePath(path: unknown): string {
  if (typeof path === "string" && path !== "" && !path.includes("\0")) return path;
  throw new ConfigurationError(
    "module",
    `expected the path of a PKCS#11 library, got ${typeof path === "string" && path !== "" ? "a path with a NUL" : given(path)}`,
  );
}

/**
 * The path without symbolic links, so that a module has one name in the process. Refuses a file that is not a library
 * before the system's loader sees it, and a module that is not on the list of allowed ones, if there is a list.
 *
 * @throws ConfigurationError
 */
export async function readModulePath(path: string, allowed?: readonly string[]): Promise<string> {
  const unreadable = (cause: unknown): never => {
    const code = memberOf(cause, "code");
    const why = typeof code === "string" ? code : "not a regular file";
    throw new ConfigurationError(
      "module",
      `expected the path of a PKCS#11 library, got ${shown(path)}, which cannot be read (${why})`,
      // The system's error repeats the path.
      mayHoldPin(path) ? undefined : { cause },
    );
  };
  const found = realPathOf(path);
  // The error is the same for a forbidden path and for a missing one. A path that is on the list may be reported as
  // missing.
  const isListed = allowed === undefined || allowed.includes(path);
  const real = await (isListed ? found.catch(unreadable) : found.catch(() => undefined));
  // A listed path needs no comparison with the others, some of which may be on a mount that hangs.
  if (allowed !== undefined && !isListed) await requireAllowed(path, real, allowed);
  if (real === undefined) return unreadable(undefined);
  const magic = await access(`start ${real}`, () => firstBytes(real)).catch(unreadable);
  if (!LIBRARY_MAGIC.includes(magic) && !magic.startsWith("4d5a")) {
    throw new ConfigurationError(
      "module",
      `expected the path of a PKCS#11 library, but ${shown(path)} is not a shared library`,
    );
  }
  return real;
}

/** Compares real paths, as they are now, so the spelling of a path does not matter. */
async function requireAllowed(path: string, real: string | undefined, allowed: readonly string[]): Promise<void> {
  const paths = await Promise.all(allowed.map((each) => realPathOf(each).catch(() => undefined)));
  if (real !== undefined && paths.includes(real)) return;
  throw new ConfigurationError("allowedModules", `expected a module on the list, got ${shown(path)}`);
}

async function firstBytes(path: string): Promise<string> {
  // Opening a pipe or a device may block forever.
  if (!(await stat(path)).isFile()) throw new Error("not a regular file");
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0);
    return buffer.subarray(0, bytesRead).toString("hex");
  } finally {
    await file.close();
  }
}
