import { lstat, readdir, readFile, realpath } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** Bytes of a package's published files (`files` of its package.json), and of its dependencies with theirs. */
export interface InstalledSize {
  readonly own: number;
  readonly withDependencies: number;
  /** Packages besides the package itself. */
  readonly dependencies: number;
}

interface Manifest {
  readonly name: string;
  readonly files?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** `from`: a file or folder that resolves the package. Peer dependencies that the user installs are not counted. */
export async function installedSize(name: string, from: string): Promise<InstalledSize> {
  const seen = new Map<string, number>();
  const root = await count(name, from, seen);
  const withDependencies = [...seen.values()].reduce((sum, bytes) => sum + bytes, 0);
  return { own: seen.get(root) ?? 0, withDependencies, dependencies: seen.size - 1 };
}

async function count(name: string, from: string, seen: Map<string, number>): Promise<string> {
  const folder = await packageFolder(name, from);
  if (seen.has(folder)) return folder;
  const manifest = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as Manifest;
  // For a package in this workspace, only the published files; for an installed one, all of its files.
  const published = manifest.name.startsWith("@signpost/") ? manifest.files : undefined;
  const parts = published === undefined ? [folder] : published.map((path) => join(folder, path));
  seen.set(
    folder,
    (await Promise.all(parts.map(bytesBelow))).reduce((sum, bytes) => sum + bytes, 0),
  );
  for (const dependency of Object.keys(manifest.dependencies ?? {})) await count(dependency, folder, seen);
  return folder;
}

async function packageFolder(name: string, from: string): Promise<string> {
  const candidates = createRequire(join(from, "any.js")).resolve.paths(name) ?? [];
  for (const candidate of candidates) {
    const found = await realpath(join(candidate, name)).catch(() => undefined);
    if (found !== undefined) return found;
  }
  throw new Error(`${name} is not installed next to ${dirname(from)}`);
}

async function bytesBelow(path: string): Promise<number> {
  const stats = await lstat(path).catch(() => undefined);
  if (stats?.isFile() === true) return path.endsWith(".tsbuildinfo") ? 0 : stats.size;
  if (stats?.isDirectory() !== true) return 0;
  const names = (await readdir(path)).filter((name) => name !== "node_modules");
  const sizes = await Promise.all(names.map((name) => bytesBelow(join(path, name))));
  return sizes.reduce((sum, bytes) => sum + bytes, 0);
}
