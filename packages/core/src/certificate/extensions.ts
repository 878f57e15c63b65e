import { type DerElement, derElements, derElementsOf, TAG } from "./der.ts";
import { unreadableExtension } from "./extension-values.ts";

/** What the extensions of a certificate say about a path (RFC 5280 section 4.2). */
export interface CertificateExtensions {
  /** basicConstraints: it may issue certificates. */
  readonly isCa: boolean;
  /** basicConstraints: how many issuers may be between this one and the certificate of the key. Undefined: any number. */
  readonly pathLength: number | undefined;
  /** keyUsage. Undefined: any use. */
  readonly keyUsage: KeyUsage | undefined;
  /** The object identifiers of critical extensions that Signpost does not know, such as `1.2.3.4`. */
  readonly unknownCritical: readonly string[];
}

export interface KeyUsage {
  /** digitalSignature, or nonRepudiation, which seals of a legal person have alone. */
  readonly signs: boolean;
  /** keyCertSign. */
  readonly signsCertificates: boolean;
}

const BASIC_CONSTRAINTS = "2.5.29.19";
const KEY_USAGE = "2.5.29.15";

/**
 * Those that path validation or its user has to know. Names, policies and purposes are left to verifiers: an OP does not decide
 * which names and purposes they accept.
 */
const KNOWN: ReadonlySet<string> = new Set([
  BASIC_CONSTRAINTS,
  KEY_USAGE,
  "2.5.29.17", // subjectAltName
  "2.5.29.18", // issuerAltName
  "2.5.29.30", // nameConstraints
  "2.5.29.31", // cRLDistributionPoints
  "2.5.29.32", // certificatePolicies
  "2.5.29.33", // policyMappings
  "2.5.29.36", // policyConstraints
  "2.5.29.37", // extKeyUsage
  "2.5.29.54", // inhibitAnyPolicy
]);

interface Extension {
  readonly id: string;
  readonly isCritical: boolean;
  readonly value: Uint8Array;
}

/** Reads the list of extensions. Returns the problem as text if it is not one. */
export function readExtensions(list: Uint8Array | undefined): CertificateExtensions | string {
  const elements = list === undefined ? [] : derElementsOf(list, TAG.sequence);
  const extensions = elements?.map(extensionOf) ?? [];
  if (elements === undefined || !extensions.every((extension) => extension !== undefined)) {
    return "the extensions are not DER";
  }
  const byId = new Map(extensions.map((extension) => [extension.id, extension]));
  // RFC 5280 section 4.2.
  if (byId.size < extensions.length) return "an extension is there twice";
  const constraints = basicConstraintsOf(byId.get(BASIC_CONSTRAINTS));
  if (constraints === undefined) return "the extension basicConstraints is not DER";
  const keyUsage = keyUsageOf(byId.get(KEY_USAGE));
  if (keyUsage === "malformed") return "the extension keyUsage is not DER";
  const [unreadable] = extensions.flatMap(({ id, value }) => unreadableExtension(id, value) ?? []);
  if (unreadable !== undefined) return `the extension ${unreadable} cannot be read`;
  const unknownCritical = extensions.filter(({ id, isCritical }) => isCritical && !KNOWN.has(id)).map(({ id }) => id);
  return { ...constraints, keyUsage, unknownCritical };
}

function extensionOf({ tag, contents }: DerElement): Extension | undefined {
  const [id, ...rest] = (tag === TAG.sequence ? derElements(contents) : undefined) ?? [];
  const critical = rest[0]?.tag === TAG.boolean ? rest[0] : undefined;
  const [value, ...others] = critical === undefined ? rest : rest.slice(1);
  const isCritical = booleanOf(critical);
  if (id?.tag !== TAG.objectIdentifier || value?.tag !== TAG.octetString || others.length > 0) return undefined;
  if (isCritical === undefined) return undefined;
  return { id: objectIdentifier(id.contents), isCritical, value: value.contents };
}

/** An absent value is FALSE. Undefined if it is neither FALSE nor TRUE in DER (X.690 section 11.1). */
function booleanOf(element: DerElement | undefined): boolean | undefined {
  if (element === undefined) return false;
  const [value, ...others] = element.contents;
  if (others.length > 0 || (value !== 0 && value !== 0xff)) return undefined;
  return value === 0xff;
}

function basicConstraintsOf(
  extension: Extension | undefined,
): Pick<CertificateExtensions, "isCa" | "pathLength"> | undefined {
  if (extension === undefined) return { isCa: false, pathLength: undefined };
  const members = derElementsOf(extension.value, TAG.sequence);
  if (members === undefined) return undefined;
  const ca = members[0]?.tag === TAG.boolean ? members[0] : undefined;
  const [length, ...others] = ca === undefined ? members : members.slice(1);
  if (others.length > 0 || (length !== undefined && length.tag !== TAG.integer)) return undefined;
  // A longer path than 127 is never needed, and a negative number means nothing.
  const bytes = length?.contents;
  const pathLength = bytes === undefined ? undefined : bytes.length === 1 ? (bytes[0] ?? 0) : Number.NaN;
  const isCa = booleanOf(ca);
  if (isCa === undefined || Number.isNaN(pathLength) || (pathLength ?? 0) > 0x7f) return undefined;
  return { isCa, pathLength };
}

const DIGITAL_SIGNATURE = 0x80;
const NON_REPUDIATION = 0x40;
const KEY_CERT_SIGN = 0x04;

function keyUsageOf(extension: Extension | undefined): KeyUsage | "malformed" | undefined {
  if (extension === undefined) return undefined;
  const [bits, ...others] = derElements(extension.value) ?? [];
  if (bits?.tag !== TAG.bitString || bits.contents.length < 2 || others.length > 0) return "malformed";
  const [unused = 0, first = 0] = bits.contents;
  // The first byte is the number of unused bits at the end, which are 0 (X.690 section 11.2).
  if (unused > 7 || (bits.contents.at(-1) ?? 0) % 2 ** unused !== 0) return "malformed";
  return {
    signs: (first & (DIGITAL_SIGNATURE | NON_REPUDIATION)) !== 0,
    signsCertificates: (first & KEY_CERT_SIGN) !== 0,
  };
}

/** No identifier in use is longer. Conversion takes quadratic time. */
const MAX_IDENTIFIER_BYTES = 128;

/** In dotted form. Exact also above 2^53, since those of UUIDs (2.25) have numbers of 128 bits. */
export function objectIdentifier(contents: Uint8Array): string {
  if (contents.length > MAX_IDENTIFIER_BYTES) return `#${Buffer.from(contents).toString("hex")}`;
  const arcs: bigint[] = [];
  let arc = 0n;
  for (const byte of contents) {
    arc = arc * 128n + BigInt(byte & 0x7f);
    if (byte >= 0x80) continue;
    // The first number holds two arcs (X.690 section 8.19.4).
    if (arcs.length > 0) arcs.push(arc);
    else if (arc < 80n) arcs.push(arc / 40n, arc % 40n);
    else arcs.push(2n, arc - 80n);
    arc = 0n;
  }
  return arcs.join(".");
}
