import { existsSync } from "node:fs";
import { ConfigurationError } from "@signpost/core";

/**
 * URL of a program of this package, by its name below `dist`. Threads and child processes start from a file and do not get
 * the application's loaders, so they always run JavaScript: the file next to this one or, when the sources themselves
 * run, the last build.
 *
 * The names are not those of the application's own programs, which may be next to its bundle.
 *
 * @throws ConfigurationError if it is missing, as in a bundle, or if this process can start no program.
 */
export function compiledFile(name: "worker" | "child"): URL {
  if (name === "child") requireNode(process.getBuiltinModule("node:sea"));
  return requireProgram(`signpost-pkcs11-${name}.js`, import.meta.url);
}

/** A single executable application starts itself in place of the child, which would start another one, and so on. */
export function requireNode(sea: { isSea(): boolean } | undefined): void {
  if (sea?.isSea() !== true) return;
  throw new ConfigurationError(
    "isolation",
    'expected "thread" in a single executable application, which cannot start a child process',
  );
}

/** `here`: URL of the code that starts the program. A CommonJS bundle may have none. */
export function requireProgram(file: string, here: string | undefined): URL {
  const folder = here?.endsWith(".ts") === true ? "../../dist/" : "./";
  const program = here === undefined ? undefined : new URL(`${folder}${file}`, here);
  if (program !== undefined && existsSync(program)) return program;
  throw new ConfigurationError(
    "@signpost/pkcs11",
    `expected its program ${file} next to its code, but the file is missing: keep @signpost/pkcs11 out of the bundle (external), and ` +
      `install it where the bundle runs`,
  );
}
