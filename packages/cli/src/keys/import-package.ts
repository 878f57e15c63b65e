import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/**
 * Imports a package that is installed where this program is, or in the working folder: a program that npx started has nothing
 * next to it. Undefined if it is in neither place.
 */
export async function importPackage(
  name: string,
  cwd: string,
  load: () => Promise<object> = () => import(name) as Promise<object>,
): Promise<object | undefined> {
  try {
    return await load();
  } catch (error) {
    if (!isMissing(error, name)) throw error;
    const path = resolvePackage(name, [cwd]);
    return path === undefined ? undefined : ((await import(pathToFileURL(path).href)) as object);
  }
}

/** The path of a package's code, seen from the first of these folders that has it. */
export function resolvePackage(name: string, folders: readonly string[]): string | undefined {
  for (const folder of folders) {
    try {
      return createRequire(join(folder, "package.json")).resolve(name);
    } catch {
      // Not there, so the next one.
    }
  }
  return undefined;
}

/** Not for what the package itself cannot find. */
export function isMissing(error: unknown, name: string): boolean {
  return (
    error instanceof Error &&
    Reflect.get(error, "code") === "ERR_MODULE_NOT_FOUND" &&
    error.message.includes(`'${name}'`)
  );
}
