import { createHash } from "node:crypto";

/**
 * A component of a CycloneDX document, with the members that are read here.
 *
 * @typedef {object} Component
 * @property {string} type
 * @property {string} name
 * @property {string} [group]
 * @property {string} [version]
 * @property {string} [purl]
 * @property {string} bom-ref
 * @property {string} [description]
 * @property {unknown} [licenses]
 * @property {string} [scope]
 * @property {readonly Readonly<Record<string, unknown>>[]} [properties]
 * @property {readonly Hash[]} [hashes]
 * @property {readonly { type: string, url: string, hashes?: readonly Hash[] }[]} [externalReferences]
 */

/** @typedef {{ alg: string, content: string }} Hash */

/**
 * @typedef {object} Bom
 * @property {string} specVersion
 * @property {{ component: Component, tools?: unknown, lifecycles?: unknown }} metadata
 * @property {readonly Component[]} components
 * @property {readonly { ref: string, dependsOn?: readonly string[] }[]} dependencies
 */

/** @typedef {{ peerDependencies?: Readonly<Record<string, string>>, peerDependenciesMeta?: Readonly<Record<string, { optional?: boolean }>> }} Peers */

/**
 * The SBOM that a package contains, from what `pnpm sbom` found. The same dependencies give the same bytes: sorted, with a serial
 * number that depends on the content, and a time only if `SOURCE_DATE_EPOCH` gives one. The addresses of the registry from which
 * this machine installed are left out; the hashes of the tarballs stay. Peers are added with their ranges, because a user chooses
 * their versions.
 *
 * @param {Bom} found
 * @param {Peers} manifest
 * @param {string} [sourceDateEpoch] in seconds
 */
export function toSbom({ specVersion, metadata, components, dependencies }, manifest, sourceDateEpoch) {
  const peers = peersOf(manifest);
  const root = metadata.component["bom-ref"];
  const content = {
    version: 1,
    metadata: {
      ...(sourceDateEpoch === undefined ? {} : { timestamp: new Date(Number(sourceDateEpoch) * 1000).toISOString() }),
      lifecycles: metadata.lifecycles,
      tools: metadata.tools,
      component: withoutAddresses(metadata.component),
    },
    components: sortBy([...components.map(withoutAddresses), ...peers], (component) => component["bom-ref"]),
    dependencies: sortBy(
      [
        ...dependencies.map(({ ref, dependsOn = [] }) => ({
          ref,
          dependsOn: [...dependsOn, ...(ref === root ? peers.map((peer) => peer["bom-ref"]) : [])].toSorted(),
        })),
        ...peers.map((peer) => ({ ref: peer["bom-ref"], dependsOn: [] })),
      ],
      ({ ref }) => ref,
    ),
    // What a peer needs depends on the version that a user chooses.
    compositions: [
      { aggregate: "complete", dependencies: dependencies.map(({ ref }) => ref).toSorted() },
      ...(peers.length === 0
        ? []
        : [{ aggregate: "unknown", dependencies: peers.map((peer) => peer["bom-ref"]).toSorted() }]),
    ],
  };
  return {
    $schema: `http://cyclonedx.org/schema/bom-${specVersion}.schema.json`,
    bomFormat: "CycloneDX",
    specVersion,
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify(content))}`,
    ...content,
  };
}

/** @param {Component} component @returns {Component} */
function withoutAddresses({
  type,
  name,
  group,
  version,
  purl,
  description,
  licenses,
  externalReferences = [],
  ...rest
}) {
  const hashes = externalReferences.flatMap((reference) =>
    reference.type === "distribution" ? (reference.hashes ?? []) : [],
  );
  const vcs = externalReferences.filter((reference) => reference.type === "vcs");
  return {
    type,
    "bom-ref": rest["bom-ref"],
    ...(group === undefined ? {} : { group }),
    name,
    ...(version === undefined ? {} : { version }),
    ...(description === undefined ? {} : { description }),
    ...(hashes.length === 0 ? {} : { hashes }),
    ...(licenses === undefined ? {} : { licenses }),
    ...(purl === undefined ? {} : { purl }),
    ...(vcs.length === 0 ? {} : { externalReferences: vcs.map(({ url }) => ({ type: "vcs", url })) }),
  };
}

/** @param {Peers} manifest @returns {Component[]} */
function peersOf({ peerDependencies = {}, peerDependenciesMeta = {} }) {
  return Object.entries(peerDependencies).map(([fullName, range]) => {
    const [name = "", group] = fullName.split("/").toReversed();
    const purl = `pkg:npm/${group === undefined ? "" : `${encodeURIComponent(group)}/`}${name}`;
    return {
      type: "library",
      "bom-ref": `peer:${purl}`,
      ...(group === undefined ? {} : { group }),
      name,
      scope: peerDependenciesMeta[fullName]?.optional === true ? "optional" : "required",
      purl,
      properties: [{ name: "signpost:peer-range", value: range }],
    };
  });
}

/**
 * @template T
 * @param {readonly T[]} list
 * @param {(item: T) => string} key
 */
function sortBy(list, key) {
  return list.toSorted((one, other) => (key(one) < key(other) ? -1 : Number(key(one) > key(other))));
}

/** A UUID of version 8 (RFC 9562), which is the hash of a text. @param {string} text */
function uuidOf(text) {
  const hex = createHash("sha256").update(text).digest("hex");
  const variant = (0x8 | (Number.parseInt(hex[16] ?? "0", 16) & 0x3)).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    variant + hex.slice(17, 20),
    hex.slice(20, 32),
  ].join("-");
}
