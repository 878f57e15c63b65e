import { createRequire } from "node:module";

/** The version of this package. */
export function programVersion(): string {
  // By its name, because sources and the bundle are in different folders.
  const { version } = createRequire(import.meta.url)("@signpost/cli/package.json") as { version: string };
  return version;
}
