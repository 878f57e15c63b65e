import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "../lib/process.mjs";
import { readJson, scratchFolder } from "../lib/repository.mjs";
import { must } from "../release/must.mjs";
import { packPackages } from "../release/pack.mjs";

/**
 * @typedef {object} Consumer a project with our packages, installed by npm
 * @property {string} folder outside the clone, so that nothing resolves into the clone
 * @property {readonly string[]} tarballs
 */

/**
 * Sample addresses, so that the gates work before the real ones are known.
 *
 * @type {import("../release/home.mjs").Home}
 */
export const SAMPLE_HOME = {
  homepage: "https://signpost.example/",
  repository: "https://signpost.example/signpost.git",
  bugs: "https://signpost.example/issues",
  files: "https://signpost.example/files/main/",
};

/** @type {Promise<string[]> | undefined} */
let tarballs;

/** Builds and packs the packages, once for all gates that need the tarballs. */
export function prepareTarballs() {
  tarballs ??= pack();
  return tarballs;
}

async function pack() {
  must("npm run build", await run(process.execPath, ["scripts/build.mjs"], { quiet: true }));
  return packPackages(scratchFolder("tarballs"), SAMPLE_HOME);
}

/** @type {Promise<Consumer> | undefined} */
let consumer;

/** Packs the packages and installs them into an empty folder, once for all gates that need it. */
export function prepareConsumer() {
  consumer ??= prepare();
  return consumer;
}

/** @returns {Promise<Consumer>} */
async function prepare() {
  const packed = await prepareTarballs();
  const folder = mkdtempSync(join(tmpdir(), "signpost-consumer-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const { dependencies, optionalDependencies } = readJson("package.json");
  const compiler = ["typescript", "@types/node"].map((name) => `${name}@${dependencies[name]}`);
  const binding = `pkcs11js@${optionalDependencies.pkcs11js}`;
  const args = ["install", "--no-audit", "--no-fund", "--ignore-scripts", ...packed, ...compiler, binding];
  must("npm install", await run("npm", args, { cwd: folder, quiet: true }));
  return { folder, tarballs: packed };
}
