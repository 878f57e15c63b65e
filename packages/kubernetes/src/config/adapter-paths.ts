import { resolve } from "node:path";
import { afterScheme, isPlainObject } from "@signpost/core/adapter";
import { SECRETS } from "../backends/secrets.ts";

/** Options of adapters that are paths, lists of paths, or objects with paths. */
const PATHS: ReadonlySet<string> = new Set([
  "module",
  "modules",
  "allowedModules",
  "caFile",
  "certFile",
  "keyFile",
  "path",
  "jwtFile",
  "secretIdFile",
]);

/**
 * Options of adapters whose paths start at a folder. The working folder of a service is another one, and may have another file of
 * this name: another PIN, which a token would count.
 */
export function withFolder<Options>(options: Options, folder: string): Options {
  return optionsIn(options, folder) as Options;
}

function optionsIn(value: unknown, folder: string): unknown {
  if (!isPlainObject(value)) return value;
  const members = Object.entries(value).map(([name, member]) => {
    if (SECRETS.has(name)) return [name, referenceIn(member, folder)] as const;
    return [name, PATHS.has(name) ? pathsIn(member, folder) : optionsIn(member, folder)] as const;
  });
  return Object.fromEntries(members);
}

function referenceIn(reference: unknown, folder: string): unknown {
  const path = typeof reference === "string" ? afterScheme(reference, "file") : undefined;
  return path === undefined || path === "" ? reference : `file:${resolve(folder, path)}`;
}

/** An empty path stays one, so that it is refused. */
function pathsIn(value: unknown, folder: string): unknown {
  if (typeof value === "string") return value === "" ? value : resolve(folder, value);
  if (Array.isArray(value)) return value.map((each) => pathsIn(each, folder));
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, path]) => [name, pathsIn(path, folder)]));
}
