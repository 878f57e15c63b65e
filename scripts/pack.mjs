// npm run pack [-- NAME …]: packs the packages that are named, or all, for a project outside this clone. The links in these tarballs
// lead into this clone. `npm run release` packs for a registry.
import { renameSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "./lib/build.mjs";
import { installDependencies } from "./lib/install.mjs";
import { readJson, ROOT, scratchFolder } from "./lib/repository.mjs";
import { say } from "./lib/say.mjs";
import { publicPackages } from "./lib/workspace.mjs";
import { neededPackages } from "./release/needed.mjs";
import { packPackages } from "./release/pack.mjs";

/** @type {string[]} */
let names;
try {
  const manifests = publicPackages().map(({ folder }) => readJson(join(folder, "package.json")));
  names = neededPackages(process.argv.slice(2), manifests);
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exit(2);
}

if (!(await installDependencies("full"))) process.exit(1);
say("Building");
if (!(await build())) process.exit(1);
say(`Packing ${names.length} packages`);
const clone = pathToFileURL(`${ROOT}/`).href;
const home = { homepage: clone, repository: clone, bugs: clone, files: clone };
const packed = await packPackages(scratchFolder("packing"), home, names);
// Tarballs of earlier runs stay: a project may have them in its package.json.
const folder = scratchFolder("packages");
const tarballs = packed.map((tarball) => join(folder, basename(tarball)));
for (const [index, tarball] of packed.entries()) renameSync(tarball, tarballs[index] ?? "");
say("Run this in your project. Add what you would install with the packages, such as an SDK:");
say(`\n  npm install ${tarballs.map((path) => (/\s/.test(path) ? `'${path}'` : path)).join(" ")}\n`);
