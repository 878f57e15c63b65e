import { basename } from "node:path";
import { run } from "../lib/process.mjs";
import { SBOM_FILE } from "../release/sboms.mjs";
import { prepareConsumer } from "./consumer.mjs";

/**
 * @typedef {object} PackedManifest
 * @property {string} name
 * @property {string} version
 * @property {Readonly<Record<string, string>>} [dependencies]
 * @property {Readonly<Record<string, string>>} [peerDependencies]
 */

/** Checks that each tarball contains an SBOM, valid by the schema of CycloneDX, with everything that its package.json needs. */
export async function checkSbom() {
  const { tarballs } = await prepareConsumer();
  const problems = await Promise.all(
    tarballs.map(async (tarball) => {
      const [sbom, manifest] = await Promise.all([readPacked(tarball, SBOM_FILE), readPacked(tarball, "package.json")]);
      const found = await sbomProblems(sbom, JSON.parse(manifest));
      return found.map((problem) => `${basename(tarball)}: ${problem}`);
    }),
  );
  return { ok: problems.flat().length === 0, output: problems.flat().join("\n") };
}

/**
 * @param {string} text
 * @param {PackedManifest} manifest
 * @returns {Promise<string[]>}
 */
export async function sbomProblems(text, manifest) {
  // Not at the top: .ci/run loads this file before it installs the dependencies.
  const { JsonStrictValidator } = await import("@cyclonedx/cyclonedx-library/Validation");
  const { Version } = await import("@cyclonedx/cyclonedx-library/Spec");
  const invalid = await new JsonStrictValidator(Version.v1dot6).validate(text);
  if (invalid !== null) return [`${SBOM_FILE} is not CycloneDX 1.6: ${JSON.stringify(invalid)}`];
  /** @type {import("../supply/sbom.mjs").Bom} */
  const { metadata, components, dependencies } = JSON.parse(text);
  const root = fullName(metadata.component);
  const needed = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
  const byRef = new Map(components.map((component) => [component["bom-ref"], component]));
  const direct = dependencies.find(({ ref }) => ref === metadata.component["bom-ref"])?.dependsOn ?? [];
  const named = direct.flatMap((ref) => byRef.get(ref) ?? []).map(fullName);
  return [
    ...(root === manifest.name && metadata.component.version === manifest.version
      ? []
      : [`${SBOM_FILE} is of ${root}@${metadata.component.version}`]),
    ...needed.filter((name) => !named.includes(name)).map((name) => `${SBOM_FILE} lacks ${name}`),
    ...named.filter((name) => !needed.includes(name)).map((name) => `${SBOM_FILE} has ${name}, which is not needed`),
    ...components
      .filter(
        ({ licenses, scope, hashes, group }) => scope === undefined && group !== "@signpost" && !(licenses && hashes),
      )
      .map((component) => `${SBOM_FILE} has no license or no hash of ${fullName(component)}`),
  ];
}

/** @param {{ group?: string, name: string }} component */
function fullName({ group, name }) {
  return group === undefined ? name : `${group}/${name}`;
}

/** @param {string} tarball @param {string} name */
async function readPacked(tarball, name) {
  const { output } = await run("tar", ["-xzOf", tarball, `package/${name}`], { quiet: true });
  return output;
}
