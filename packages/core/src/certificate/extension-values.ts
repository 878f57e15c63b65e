import { type DerElement, derElements, derElementsOf, TAG } from "./der.ts";

type Reader = (value: Uint8Array) => boolean;

const CONTEXT = 0x80;
const CLASS = 0xc0;

/**
 * Extensions whose value core does not need, but verifiers read (RFC 5280 section 4.2). OpenSSL refuses a path with one that it
 * cannot read, and verifiers in Go refuse the certificate.
 */
const READERS: ReadonlyMap<string, readonly [name: string, isReadable: Reader]> = new Map([
  ["2.5.29.14", ["subjectKeyIdentifier", one(TAG.octetString)]],
  ["2.5.29.17", ["subjectAltName", listOf(isGeneralName)]],
  ["2.5.29.18", ["issuerAltName", listOf(isGeneralName)]],
  ["2.5.29.30", ["nameConstraints", listOf(isContext)]],
  ["2.5.29.31", ["cRLDistributionPoints", listOf(isSequence)]],
  ["2.5.29.32", ["certificatePolicies", listOf(isSequence)]],
  ["2.5.29.33", ["policyMappings", listOf(isSequence)]],
  ["2.5.29.35", ["authorityKeyIdentifier", listOf(isContext)]],
  ["2.5.29.36", ["policyConstraints", listOf(isContext)]],
  ["2.5.29.37", ["extKeyUsage", listOf(({ tag }) => tag === TAG.objectIdentifier)]],
  ["2.5.29.54", ["inhibitAnyPolicy", one(TAG.integer)]],
  ["1.3.6.1.5.5.7.1.1", ["authorityInfoAccess", listOf(isSequence)]],
]);

/** The name of an extension that cannot be read. Undefined if it can, or if it is not one of RFC 5280. */
export function unreadableExtension(id: string, value: Uint8Array): string | undefined {
  const [name, isReadable] = READERS.get(id) ?? [];
  return isReadable?.(value) === false ? name : undefined;
}

function one(tag: number): Reader {
  return (value) => {
    const [only, ...others] = derElements(value) ?? [];
    return only?.tag === tag && only.contents.length > 0 && others.length === 0;
  };
}

function listOf(isMember: (element: DerElement) => boolean): Reader {
  return (value) => derElementsOf(value, TAG.sequence)?.every(isMember) ?? false;
}

function isSequence({ tag, contents }: DerElement): boolean {
  return tag === TAG.sequence && derElements(contents) !== undefined;
}

function isContext({ tag }: DerElement): boolean {
  return (tag & CLASS) === CONTEXT;
}

/** The last choice, registeredID, has the number 8 (RFC 5280 section 4.2.1.6). */
const MOST_CHOICES = 8;
const EMAIL = 0x81;
const DNS = 0x82;
const URI = 0x86;
const IP = 0x87;

function isGeneralName(element: DerElement): boolean {
  const { tag, contents } = element;
  if (!isContext(element) || (tag & 0x1f) > MOST_CHOICES) return false;
  if (tag === IP) return contents.length === 4 || contents.length === 16;
  const isText = tag === EMAIL || tag === DNS || tag === URI;
  // IA5String.
  return !isText || contents.every((byte) => byte < 0x80);
}
