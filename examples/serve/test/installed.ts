import { chmod, cp, mkdir, mkdtemp, readdir, readFile, realpath, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** What the image contains below `/`, in a folder that only its owner can write to. */
export interface Installed extends AsyncDisposable {
  readonly root: string;
  /** The path of a file of the image. */
  readonly at: (path: string) => string;
}

const PACKAGES = fileURLToPath(new URL("../../../packages/", import.meta.url));
const OURS = ["core", "verify", "local", "cli"];

/** Lays out the files that the packages publish, with what they depend on, as `npm ci` does in the image. */
export async function installPackages(): Promise<Installed> {
  const root = await mkdtemp(join(tmpdir(), "signpost-serve-"));
  const modules = join(root, "opt/signpost/node_modules");
  await mkdir(modules, { recursive: true });
  await Promise.all(OURS.map((name) => copyPublished(name, join(modules, "@signpost", name))));
  const done = new Set<string>();
  for (const name of OURS) await copyDependencies(join(PACKAGES, name), modules, done);
  await mkdir(join(root, "etc/signpost"), { recursive: true });
  await mkdir(join(root, "run/secrets"), { recursive: true });
  await chmod(root, 0o755);
  return {
    root,
    at: (path) => join(root, path),
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
  };
}

/** The files that a package publishes, as its manifest names them. Packing them takes npm many times as long. */
async function copyPublished(name: string, destination: string): Promise<void> {
  const source = join(PACKAGES, name);
  const { files } = JSON.parse(await readFile(join(source, "package.json"), "utf8")) as {
    readonly files: readonly string[];
  };
  for (const file of ["package.json", ...files.filter((each) => !each.startsWith("!"))]) {
    await cp(join(source, file), join(destination, file), { recursive: true });
  }
}

/** Flat, as npm does it where there is one version of each. */
async function copyDependencies(folder: string, modules: string, done: Set<string>): Promise<void> {
  const { dependencies = {} } = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as {
    readonly dependencies?: Readonly<Record<string, string>>;
  };
  for (const name of Object.keys(dependencies).filter((each) => !each.startsWith("@signpost/") && !done.has(each))) {
    done.add(name);
    const source = await findPackage(folder, name);
    await cp(source, join(modules, name), {
      recursive: true,
      dereference: true,
      filter: (path) => !path.slice(source.length).includes("node_modules"),
    });
    await copyDependencies(source, modules, done);
  }
}

/** Where Node would find it. */
async function findPackage(folder: string, name: string): Promise<string> {
  const path = join(folder, "node_modules", name);
  const found = await stat(path).then(
    () => true,
    () => false,
  );
  if (found) return realpath(path);
  if (dirname(folder) === folder) throw new Error(`${name} is not installed`);
  return findPackage(dirname(folder), name);
}

/** Every file below a folder, with its time of change. */
export async function listFiles(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder, { recursive: true });
  const lines = names.map(async (name) => `${name} ${(await stat(join(folder, name))).mtimeMs}`);
  return (await Promise.all(lines)).toSorted();
}
