import { createHash } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of this clone. */
export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../..");

/** A folder for temporary files, which git ignores. Made if it does not exist. @param {string} name */
export function scratchFolder(name) {
  const folder = join(ROOT, ".tmp", name);
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** The folder for tools that are downloaded or built once per machine: `SIGNPOST_CACHE`, or the user's cache folder. */
export function cacheFolder() {
  const base = process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  const folder = resolve(process.env["SIGNPOST_CACHE"] || join(base, "signpost"));
  mkdirSync(folder, { recursive: true });
  return folder;
}

/**
 * @param {string} path relative to the clone
 * @returns {any}
 */
export function readJson(path) {
  return JSON.parse(readFileSync(join(ROOT, path), "utf8"));
}

/** Changes only if the dependencies change. */
export function lockfileDigest() {
  const hash = createHash("sha256");
  for (const file of ["pnpm-lock.yaml", "pnpm-workspace.yaml"]) hash.update(readFileSync(join(ROOT, file)));
  return hash.digest("hex");
}
