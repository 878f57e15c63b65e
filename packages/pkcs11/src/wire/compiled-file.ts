import { existsSync } from "node:fs";
import { ConfigurationError } from "@signpost/core";

/**
 * URL of a program of this package, by its name below `dist`. Threads and child processes are started from a file and get
 * no loader of the application, so they always run JavaScript: the file beside this one, or, where the sources themselves
 * are running, the one that was built last.
 *
 * @throws ConfigurationError where it is not there, as in a bundle.
 */
export function compiledFile(name: "worker" | "child"): URL {
  return requireProgram(`${name}.js`, import.meta.url);
}

/** `here`: URL of the code that starts the program. A bundle of CommonJS may have none. */
export function requireProgram(file: string, here: string | undefined): URL {
  const folder = here?.endsWith(".ts") === true ? "../../dist/" : "./";
  const program = here === undefined ? undefined : new URL(`${folder}${file}`, here);
  if (program !== undefined && existsSync(program)) return program;
  throw new ConfigurationError(
    "@signpost/pkcs11",
    `expected its program ${file} beside its code, and it is not there: leave @signpost/pkcs11 out of the bundle (external), and ` +
      `install it where the bundle runs`,
  );
}
