import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pnpm } from "../lib/pnpm.mjs";
import { scratchFolder } from "../lib/repository.mjs";
import { must } from "./must.mjs";

/** @typedef {import("../supply/sbom.mjs").Bom} Bom */

/** The name of the inventory in each package. */
export const SBOM_FILE = "sbom.cdx.json";

/**
 * What pnpm finds for every published package in the lockfile and in its store.
 *
 * @returns {Promise<Readonly<Record<string, Bom>>>} by the name of the package
 */
export async function makeSboms() {
  const folder = scratchFolder("sboms");
  rmSync(folder, { recursive: true, force: true });
  const format = ["--sbom-format", "cyclonedx", "--sbom-spec-version", "1.6"];
  const scope = ["--split", "--prod", "--filter", "./packages/*", "--out", join(folder, "%s.json")];
  must("pnpm sbom", await pnpm(["sbom", ...format, ...scope], { quiet: true }));
  /** @type {Bom[]} */
  const all = readdirSync(folder).map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")));
  return Object.fromEntries(all.map((bom) => [nameOf(bom), bom]));
}

/** @param {Bom} bom */
function nameOf({ metadata: { component } }) {
  return component.group === undefined ? component.name : `${component.group}/${component.name}`;
}
