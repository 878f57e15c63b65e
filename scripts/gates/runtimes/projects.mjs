import { cpSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "../../lib/process.mjs";
import { cacheFolder, readJson, ROOT } from "../../lib/repository.mjs";
import { publicPackages } from "../../lib/workspace.mjs";

/**
 * A runtime, and a project in which it finds the packed packages.
 *
 * @typedef {object} Project
 * @property {string} runtime `node20`, `deno`, `bun`
 * @property {readonly string[]} command starts a program, whose file follows
 * @property {string} folder
 */

/**
 * What a user installs next to the packages, in the versions that the tests have.
 *
 * @type {Readonly<Record<string, string>>} the member of the workspace that names the version
 */
const OTHERS = {
  "@aws-sdk/client-kms": "packages/aws-kms",
  "@google-cloud/kms": "packages/gcp-kms",
  "@grpc/grpc-js": "packages/kubernetes",
  "better-auth": "packages/better-auth",
  "oidc-provider": "packages/oidc-provider",
  pkcs11js: ".",
};

/**
 * Installs the packages by name, with the package manager of the runtime.
 *
 * @param {"bun" | "deno"} runtime
 * @param {string} program
 * @param {string} registry
 * @returns {Promise<Project>}
 */
export async function installProject(runtime, program, registry) {
  const folder = mkdtempSync(join(tmpdir(), `signpost-${runtime}-`));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const packages = [
    ...publicPackages().map(({ name, version }) => [name, version]),
    ...Object.entries(OTHERS).map(([name, member]) => [name, versionOf(name, member)]),
  ];
  const manifest = { private: true, type: "module", dependencies: Object.fromEntries(packages) };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  writeFileSync(join(folder, ".npmrc"), `@signpost:registry=${registry}\n`);
  const cache = join(cacheFolder(), `${runtime}-packages`);
  mkdirSync(cache, { recursive: true });
  const env = runtime === "bun" ? { BUN_INSTALL_CACHE_DIR: cache } : { DENO_DIR: cache };
  const args = runtime === "bun" ? ["install", "--no-save", "--ignore-scripts"] : ["install"];
  const { ok, output } = await run(program, args, { cwd: folder, env, quiet: true });
  forget(cache, registry);
  if (!ok) throw new Error(`${runtime} ${args.join(" ")} failed:\n${output}`);
  prepareProject(folder);
  return { runtime, command: runtime === "bun" ? [program] : [program, "run", "--allow-all"], folder };
}

/** @param {string} name @param {string} member */
function versionOf(name, member) {
  const manifest = readJson(join(member, "package.json"));
  const found = [manifest.devDependencies, manifest.dependencies, manifest.optionalDependencies]
    .map((dependencies) => dependencies?.[name])
    .find((version) => version !== undefined);
  if (found === undefined) throw new Error(`${member}/package.json has no ${name}`);
  return found;
}

/** The next packages have the same version and other content. @param {string} cache @param {string} registry */
function forget(cache, registry) {
  rmSync(join(cache, "@signpost"), { recursive: true, force: true });
  // Deno names a registry by its port.
  rmSync(join(cache, "npm", new URL(registry).port), { recursive: true, force: true });
}

/** Adds what is not installed: the compiled binding, and the programs. @param {string} folder */
export function prepareProject(folder) {
  addBinding(folder);
  const source = join(ROOT, "scripts/gates/runtimes/programs");
  cpSync(source, join(folder, "programs"), { recursive: true });
}

/** The installation of a user compiles pkcs11js. This takes the one that was compiled for the tests. @param {string} folder */
function addBinding(folder) {
  const built = join(ROOT, "node_modules/pkcs11js/build");
  const installed = join(folder, "node_modules/pkcs11js");
  if (!existsSync(built) || !existsSync(installed)) return;
  cpSync(built, join(realpathSync(installed), "build"), { recursive: true });
}
