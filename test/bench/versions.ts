import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** Some packages do not export their package.json, so it is looked for above the file that they resolve to. */
export async function versionOf(packageName: string): Promise<string> {
  let folder = dirname(createRequire(import.meta.url).resolve(packageName));
  for (;;) {
    const text = await readFile(join(folder, "package.json"), "utf8").catch(() => "{}");
    const manifest = JSON.parse(text) as { name?: string; version?: string };
    if (manifest.name === packageName && manifest.version !== undefined) return manifest.version;
    if (dirname(folder) === folder) throw new Error(`${packageName} has no package.json`);
    folder = dirname(folder);
  }
}
