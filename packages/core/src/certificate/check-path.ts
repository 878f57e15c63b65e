import type { Certificate } from "./parse-certificate.ts";
import { issuerKeyFault, publicKeyOf, signatureFault } from "./strength.ts";

/** A chain that was checked: each certificate is issued by the next one. */
export interface CertificatePath {
  /** What is published: without a root and without the trust anchor, except if it is the certificate of the key itself. */
  readonly chain: readonly Certificate[];
  /** The trust anchor that issued the path. Undefined if none was given, or if it is in the chain. */
  readonly anchor: Certificate | undefined;
}

/** Makes the error about a certificate of the chain, by its index, or about the trust anchor. */
export type RefuseCertificate = (index: number | "anchor", problem: string) => Error;

/**
 * Checks a chain as path validation does (RFC 5280 section 6.1), without names, policies, revocation and times. The first
 * certificate is the one of the key. Trust anchors are checked like issuers.
 */
export function checkPath(
  chain: readonly Certificate[],
  anchors: readonly Certificate[] | undefined,
  refuse: RefuseCertificate,
): CertificatePath {
  for (const [index, certificate] of chain.entries()) {
    const issuer = chain[index + 1];
    requireSound(certificate, index, refuse);
    if (index === 0 && certificate.keyUsage?.signs === false) {
      throw refuse(index, "its keyUsage must have digitalSignature or nonRepudiation, since the key signs tokens");
    }
    if (index > 0) requireIssuer(certificate, index, chain.slice(1, index), refuse);
    if (issuer !== undefined && isSelfSigned(certificate)) {
      throw refuse(index, "a self-signed certificate must be the last of the chain");
    }
    if (issuer !== undefined) requireIssued(certificate, issuer, index, refuse);
  }
  const last = chain.length - 1;
  const { anchor, end } = anchors === undefined ? { anchor: undefined, end: last } : findAnchor(chain, anchors, refuse);
  const published = chain.slice(0, Math.max(1, end + 1));
  const root = published.at(-1);
  return {
    chain: published.length > 1 && root !== undefined && isSelfSigned(root) ? published.slice(0, -1) : published,
    anchor,
  };
}

/** What is wrong with a certificate, wherever it is in a path. */
function requireSound(certificate: Certificate, index: number | "anchor", refuse: RefuseCertificate): void {
  const [unknown] = certificate.unknownCritical;
  if (unknown !== undefined)
    throw refuse(index, `verifiers must refuse its critical extension ${unknown} (RFC 5280 section 4.2)`);
  // RFC 5280 section 6.1: nothing depends on the signature of a trust anchor or root.
  const isRoot = index === "anchor" || (index > 0 && isSelfSigned(certificate));
  const weak = isRoot ? undefined : signatureFault(certificate);
  if (weak !== undefined) throw refuse(index, weak);
}

/** Whether it may issue the certificates before it. `below` are the issuers between it and the certificate of the key. */
function requireIssuer(
  issuer: Certificate,
  index: number | "anchor",
  below: readonly Certificate[],
  refuse: RefuseCertificate,
): void {
  if (!issuer.isCa) throw refuse(index, "expected a CA: basicConstraints with CA:TRUE");
  if (issuer.keyUsage?.signsCertificates === false) throw refuse(index, "its keyUsage must have keyCertSign");
  // RFC 5280 section 6.1.4 (l): an issuer with its own name as issuer does not count.
  const issuers = below.filter(({ isSelfIssued }) => !isSelfIssued).length;
  if (issuer.pathLength !== undefined && issuers > issuer.pathLength) {
    throw refuse(
      index,
      `its pathLenConstraint ${issuer.pathLength} allows fewer issuers before it than the ${issuers} there are`,
    );
  }
  const short = issuerKeyFault(issuer);
  if (short !== undefined) throw refuse(index, short);
}

function requireIssued(certificate: Certificate, issuer: Certificate, index: number, refuse: RefuseCertificate): void {
  if (isIssuedBy(certificate, issuer)) return;
  const isNamed = certificate.x509.issuer === issuer.x509.subject;
  if (!isNamed) {
    throw refuse(
      index + 1,
      "expected the issuer of the certificate before it: the certificate of the key, its issuer, and so on",
    );
  }
  // A certificate that may not issue any is told what it lacks.
  requireIssuer(issuer, index + 1, [], refuse);
  throw refuse(index, "its signature or its authorityKeyIdentifier does not fit the certificate after it");
}

/** The trust anchor of the chain, if it is not in the chain, and the last certificate to publish. */
function findAnchor(
  chain: readonly Certificate[],
  anchors: readonly Certificate[],
  refuse: RefuseCertificate,
): { readonly anchor: Certificate | undefined; readonly end: number } {
  const inChain = chain.findIndex((certificate) =>
    anchors.some(({ der }) => Buffer.compare(der, certificate.der) === 0),
  );
  if (inChain >= 0) return { anchor: undefined, end: inChain - 1 };
  // A cross certificate may follow the certificate that the trust anchor issued.
  for (const [index, certificate] of chain.entries()) {
    // A CA may have renewed the certificate of its root with the same key.
    const candidates = anchors.filter((candidate) => isIssuedBy(certificate, candidate));
    const [anchor] = candidates.toSorted((a, b) => b.notAfter - a.notAfter);
    if (anchor === undefined) continue;
    requireSound(anchor, "anchor", refuse);
    requireIssuer(anchor, "anchor", chain.slice(1, index + 1), refuse);
    // Until the newest one is valid, verifiers use the one before it.
    const notBefore = Math.min(...candidates.map((candidate) => candidate.notBefore));
    return { anchor: { ...anchor, notBefore }, end: chain.length - 1 };
  }
  throw refuse(chain.length - 1, "expected the chain to end at a certificate that one of the trustAnchors issued");
}

/** Also if it may not sign certificates, which `checkIssued` requires. */
function isSelfSigned(certificate: Certificate): boolean {
  return certificate.isSelfIssued && isSignedWith(certificate, certificate);
}

/** Names, key identifiers and the signature. */
function isIssuedBy(certificate: Certificate, issuer: Certificate): boolean {
  return certificate.x509.checkIssued(issuer.x509) && isSignedWith(certificate, issuer);
}

function isSignedWith({ x509 }: Certificate, issuer: Certificate): boolean {
  const key = publicKeyOf(issuer);
  try {
    return key !== undefined && x509.verify(key);
  } catch {
    // An algorithm that OpenSSL does not have.
    return false;
  }
}
