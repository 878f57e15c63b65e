import { ConfigurationError } from "@signpost/core";
import { given, isPlainObject, readText } from "@signpost/core/adapter";
import { shown } from "./misplaced-pin.ts";
import type { Pkcs11Uri } from "./uri.ts";

/** The modules that a URI can mean. */
export interface ModuleNames {
  /** The path for URIs that name none. */
  readonly module: string | undefined;
  /** Paths by `module-name`. */
  readonly modules: ReadonlyMap<string, string>;
}

/** The path of the module that a URI means. */
export function moduleOf({ modulePath, moduleName }: Pkcs11Uri, { module, modules }: ModuleNames): string {
  if (modulePath !== undefined) return modulePath;
  if (moduleName !== undefined) {
    const path = modules.get(moduleName);
    if (path !== undefined) return path;
    throw new ConfigurationError("modules", `expected a path for the module-name ${shown(moduleName)} in the URI`);
  }
  if (module !== undefined) return module;
  throw new ConfigurationError("module", "missing: set this option, or module-path in the URI");
}

/** Reads `allowedModules`. */
export function readAllowedModules(paths: unknown): readonly string[] | undefined {
  if (paths === undefined) return undefined;
  if (!Array.isArray(paths) || paths.length === 0)
    throw new ConfigurationError(
      "allowedModules",
      `expected a non-empty list of paths, got ${Array.isArray(paths) ? "an empty list" : given(paths)}`,
    );
  return paths.map((path) => readText("allowedModules", path));
}

/** Reads `modules`. */
export function readModules(modules: unknown): ReadonlyMap<string, string> {
  if (modules === undefined) return new Map();
  if (!isPlainObject(modules))
    throw new ConfigurationError(
      "modules",
      `expected an object that maps each module-name to a path, got ${given(modules)}`,
    );
  const entries = Object.entries(modules).filter(([, path]) => path !== undefined);
  return new Map(entries.map(([name, path]) => [name, readText("modules", path)]));
}
