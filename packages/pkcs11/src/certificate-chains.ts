import { X509Certificate } from "node:crypto";
import { type P256PublicJwk, spkiToJwk } from "@signpost/core";
import type { CertificateObject, NamedObject, TokenCertificates } from "./cryptoki/descriptions.ts";
import type { PrivateKeyQuery } from "./request/key-request.ts";

/** A certificate of a token that could be parsed. */
export interface ReadCertificate {
  readonly object: CertificateObject;
  readonly x509: X509Certificate;
}

/** Which certificates are leaves. */
interface LeafQuery {
  readonly query: PrivateKeyQuery;
  readonly publicKey: P256PublicJwk | undefined;
}

/** The chains of a token, each from its leaf on. Those that are valid now come first, and of these the one that is valid longest. */
export function certificateChains(
  token: TokenCertificates,
  leafQuery: LeafQuery,
  now: number,
): readonly (readonly ReadCertificate[])[] {
  const certificates = token.certificates.flatMap(parse);
  const isLeaf = leafTest(token, certificates, leafQuery);
  return certificates
    .filter(isLeaf)
    .toSorted((a, b) => Number(isValid(b, now)) - Number(isValid(a, now)) || endOf(b) - endOf(a))
    .map((leaf) => chainOf(leaf, certificates));
}

/**
 * Other objects may have this class too, such as a certificate that the vendor encrypted. Some cards pad what they hold. OpenSSL
 * reads PEM too, also inside of DER, which would be another certificate than the token's.
 */
function parse(object: CertificateObject): readonly ReadCertificate[] {
  try {
    const x509 = new X509Certificate(object.value);
    const value = new Uint8Array(x509.raw);
    return same(value, object.value.subarray(0, value.length)) ? [{ object: { ...object, value }, x509 }] : [];
  } catch {
    return [];
  }
}

function leafTest(
  { keys }: TokenCertificates,
  certificates: readonly ReadCertificate[],
  { query, publicKey }: LeafQuery,
): (certificate: ReadCertificate) => boolean {
  const { object: label, id } = query;
  if (publicKey !== undefined) return ({ x509 }) => isKeyOf(x509, publicKey);
  if (label === undefined && id === undefined) {
    // The certificates of a root with the same key each fit the others, and are no issuers for that.
    return (each) => !certificates.some((other) => issued(each, other) && !haveSameKey(each, other));
  }
  // A certificate is often next to the key by its id, with another label or none.
  const ids = label === undefined ? [] : keys.filter((key) => same(key.label, label)).map((key) => key.id);
  const hasLabel = (object: NamedObject): boolean =>
    label === undefined || same(object.label, label) || ids.some((each) => each.length > 0 && same(each, object.id));
  return ({ object }) => (id === undefined || same(object.id, id)) && hasLabel(object);
}

function haveSameKey(a: ReadCertificate, b: ReadCertificate): boolean {
  try {
    return a.x509.publicKey.equals(b.x509.publicKey);
  } catch {
    // A kind of key that OpenSSL does not have.
    return false;
  }
}

function isKeyOf(certificate: X509Certificate, { x, y }: P256PublicJwk): boolean {
  try {
    // Reading the key of a kind that OpenSSL does not know throws.
    const jwk = spkiToJwk(certificate.publicKey.export({ type: "spki", format: "der" }));
    return jwk.x === x && jwk.y === y;
  } catch {
    return false;
  }
}

function chainOf(leaf: ReadCertificate, certificates: readonly ReadCertificate[]): readonly ReadCertificate[] {
  const chain: ReadCertificate[] = [];
  for (let next: ReadCertificate | undefined = leaf; next !== undefined;) {
    const current: ReadCertificate = next;
    chain.push(current);
    // A root ends the chain. It may have been renewed with the same key, and then each of its certificates fits the other.
    if (issued(current, current)) break;
    // A token may hold an authority's old and new certificate, and one that another authority made for the key of a root.
    next = certificates
      .filter((each) => !chain.some(({ object }) => same(object.value, each.object.value)) && issued(each, current))
      .toSorted((a, b) => Number(issued(a, a)) - Number(issued(b, b)) || endOf(b) - endOf(a))[0];
  }
  return chain;
}

function issued(issuer: ReadCertificate, subject: ReadCertificate): boolean {
  try {
    return subject.x509.checkIssued(issuer.x509) && subject.x509.verify(issuer.x509.publicKey);
  } catch {
    return false;
  }
}

function isValid({ x509 }: ReadCertificate, now: number): boolean {
  return Date.parse(x509.validFrom) <= now && now < Date.parse(x509.validTo) + 1000;
}

function endOf({ x509 }: ReadCertificate): number {
  return Date.parse(x509.validTo);
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}
