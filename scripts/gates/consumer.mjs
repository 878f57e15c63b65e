import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pnpm } from "../lib/pnpm.mjs";
import { run } from "../lib/process.mjs";
import { readJson, ROOT, scratchFolder } from "../lib/repository.mjs";
import { publicPackages } from "../lib/workspace.mjs";

/**
 * @typedef {object} Consumer somebody's project with our packages, as npm installs them
 * @property {string} folder outside of the clone, so that nothing resolves into it
 * @property {readonly string[]} tarballs
 */

/** @type {Promise<Consumer> | undefined} */
let consumer;

/** Packs, and installs into an empty folder, once for all gates that look at the result. */
export function prepareConsumer() {
  consumer ??= prepare();
  return consumer;
}

/** @returns {Promise<Consumer>} */
async function prepare() {
  must("npm run build", await run(process.execPath, ["scripts/build.mjs"], { quiet: true }));
  const tarballs = await pack();
  const folder = mkdtempSync(join(tmpdir(), "signpost-consumer-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const { dependencies } = readJson("package.json");
  const compiler = ["typescript", "@types/node"].map((name) => `${name}@${dependencies[name]}`);
  const args = ["install", "--no-audit", "--no-fund", "--ignore-scripts", ...tarballs, ...compiler];
  must("npm install", await run("npm", args, { cwd: folder, quiet: true }));
  return { folder, tarballs };
}

/** `pnpm pack` is what publishing uses: it applies publishConfig and writes versions for `workspace:`. */
async function pack() {
  const folder = join(scratchFolder("tarballs"));
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const { folder: cwd } of publicPackages()) {
    const args = ["pack", "--pack-destination", folder];
    must(`pnpm pack in ${cwd}`, await pnpm(args, { cwd: join(ROOT, cwd), quiet: true }));
  }
  return readdirSync(folder).map((name) => join(folder, name));
}

/**
 * @param {string} what
 * @param {{ ok: boolean, output: string }} result
 */
function must(what, { ok, output }) {
  if (!ok) throw new Error(`${what} failed:\n${output}`);
}
