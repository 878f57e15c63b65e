import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pnpm } from "../lib/pnpm.mjs";
import { run } from "../lib/process.mjs";
import { ROOT } from "../lib/repository.mjs";
import { twoAtATime } from "../lib/tools.mjs";
import { publicPackages } from "../lib/workspace.mjs";
import { toSbom } from "../supply/sbom.mjs";
import { fillLinks, fillManifest, fillPeers } from "./fill.mjs";
import { must } from "./must.mjs";
import { makeSboms, SBOM_FILE } from "./sboms.mjs";

/**
 * Packs published packages into an empty folder. Build the packages first.
 *
 * @param {string} destination this function empties it first
 * @param {import("./home.mjs").Home} home the addresses in the tarballs
 * @param {readonly string[]} [only] the names of packages. Default: all
 * @returns {Promise<string[]>} the tarballs
 */
export async function packPackages(destination, home, only) {
  rmSync(destination, { recursive: true, force: true });
  mkdirSync(destination, { recursive: true });
  const packages = publicPackages();
  const sboms = await makeSboms();
  const versions = Object.fromEntries(packages.map(({ name, version }) => [name, version]));
  const wanted = packages.filter(({ name }) => only === undefined || only.includes(name));
  await twoAtATime(
    wanted.map(
      ({ name, folder }) =>
        () =>
          packOne(folder, destination, { home, versions, sbom: sboms[name] }),
    ),
  );
  return readdirSync(destination).map((name) => join(destination, name));
}

/**
 * `pnpm pack` applies publishConfig and replaces `workspace:` with versions, as publishing does. This unpacks its tarball, adds
 * the addresses and the SBOM, and packs it again, so the clone does not change.
 *
 * @param {string} folder of the package, relative to the clone
 * @param {string} destination
 * @param {object} filling
 * @param {import("./home.mjs").Home} filling.home
 * @param {Readonly<Record<string, string>>} filling.versions of the published packages
 * @param {import("../supply/sbom.mjs").Bom | undefined} filling.sbom
 */
async function packOne(folder, destination, { home, versions, sbom }) {
  const scratch = join(ROOT, ".tmp/pack", folder);
  rmSync(scratch, { recursive: true, force: true });
  mkdirSync(scratch, { recursive: true });
  const pack = ["pack", "--pack-destination", scratch];
  must(`pnpm pack in ${folder}`, await pnpm(pack, { cwd: join(ROOT, folder), quiet: true }));
  const [tarball = ""] = readdirSync(scratch);
  must(`tar ${tarball}`, await run("tar", ["-xzf", tarball], { cwd: scratch, quiet: true }));
  const content = join(scratch, "package");
  if (sbom === undefined) throw new Error(`pnpm sbom found no package in ${folder}`);
  const manifest = fillPeers(
    fillManifest(JSON.parse(readFileSync(join(content, "package.json"), "utf8")), folder, home),
    versions,
  );
  const filled = { ...manifest, files: [...manifest.files, SBOM_FILE] };
  writeFileSync(join(content, "package.json"), JSON.stringify(filled, undefined, 2));
  writeFileSync(
    join(content, SBOM_FILE),
    `${JSON.stringify(toSbom(sbom, manifest, process.env["SOURCE_DATE_EPOCH"]), undefined, 2)}\n`,
  );
  rewrite(join(content, "README.md"), (text) => fillLinks(text, folder, home));
  const again = ["pack", "--ignore-scripts", "--pack-destination", destination];
  must(`npm pack of ${folder}`, await run("npm", again, { cwd: content, quiet: true }));
}

/** @param {string} path @param {(text: string) => string} change */
function rewrite(path, change) {
  writeFileSync(path, change(readFileSync(path, "utf8")));
}
