import { existsSync } from "node:fs";
import { ConfigurationError } from "@signpost/core";

/**
 * URL of a program of this package, by its name below `dist`. Threads and child processes start from a file and do not get
 * the application's loaders, so they always run JavaScript: the file next to this one or, when the sources themselves
 * run, the last build.
 *
 * @throws ConfigurationError if it is missing, as in a bundle.
 */
export function compiledFile(name: "worker" | "child"): URL {
  return requireProgram(`${name}.js`, import.meta.url);
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
