import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pnpm } from "../lib/pnpm.mjs";
import { run } from "../lib/process.mjs";
import { ROOT } from "../lib/repository.mjs";
import { twoAtATime } from "../lib/tools.mjs";
import { publicPackages } from "../lib/workspace.mjs";
import { fillLinks, fillManifest } from "./fill.mjs";

/**
 * Packs every published package into an empty folder. Build the packages first.
 *
 * @param {string} destination this function empties it first
 * @param {import("./home.mjs").Home} home the addresses in the tarballs
 * @returns {Promise<string[]>} the tarballs
 */
export async function packPackages(destination, home) {
  rmSync(destination, { recursive: true, force: true });
  mkdirSync(destination, { recursive: true });
  await twoAtATime(
    publicPackages().map(
      ({ folder }) =>
        () =>
          packOne(folder, destination, home),
    ),
  );
  return readdirSync(destination).map((name) => join(destination, name));
}

/**
 * `pnpm pack` applies publishConfig and replaces `workspace:` with versions, as publishing does. This unpacks its tarball, adds
 * the addresses, and packs it again, so the clone does not change.
 *
 * @param {string} folder of the package, relative to the clone
 * @param {string} destination
 * @param {import("./home.mjs").Home} home
 */
async function packOne(folder, destination, home) {
  const scratch = join(ROOT, ".tmp/pack", folder);
  rmSync(scratch, { recursive: true, force: true });
  mkdirSync(scratch, { recursive: true });
  const pack = ["pack", "--pack-destination", scratch];
  must(`pnpm pack in ${folder}`, await pnpm(pack, { cwd: join(ROOT, folder), quiet: true }));
  const [tarball = ""] = readdirSync(scratch);
  must(`tar ${tarball}`, await run("tar", ["-xzf", tarball], { cwd: scratch, quiet: true }));
  const content = join(scratch, "package");
  rewrite(join(content, "package.json"), (text) =>
    JSON.stringify(fillManifest(JSON.parse(text), folder, home), undefined, 2),
  );
  rewrite(join(content, "README.md"), (text) => fillLinks(text, folder, home));
  const again = ["pack", "--ignore-scripts", "--pack-destination", destination];
  must(`npm pack of ${folder}`, await run("npm", again, { cwd: content, quiet: true }));
}

/** @param {string} path @param {(text: string) => string} change */
function rewrite(path, change) {
  writeFileSync(path, change(readFileSync(path, "utf8")));
}

/**
 * @param {string} what
 * @param {{ ok: boolean, output: string }} result
 */
export function must(what, { ok, output }) {
  if (!ok) throw new Error(`${what} failed:\n${output}`);
}
