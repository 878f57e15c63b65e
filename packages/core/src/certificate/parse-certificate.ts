import { X509Certificate } from "node:crypto";
import { type DerElement, derElements, derElementsOf, TAG } from "./der.ts";
import { type CertificateExtensions, readExtensions } from "./extensions.ts";

/** A certificate (RFC 5280 section 4.1), read by OpenSSL, and what OpenSSL does not tell. */
export interface Certificate extends CertificateExtensions {
  readonly der: Uint8Array;
  readonly x509: X509Certificate;
  /** The SubjectPublicKeyInfo in DER. */
  readonly spki: Uint8Array;
  /** Milliseconds since 1970. */
  readonly notBefore: number;
  /** Milliseconds since 1970. The certificate is still valid then. */
  readonly notAfter: number;
  /** Subject and issuer have the same name. */
  readonly isSelfIssued: boolean;
  /** The AlgorithmIdentifier of the signature in DER. */
  readonly signatureAlgorithm: Uint8Array;
}

/** Reads one certificate. Returns the problem as text if it is not one, or not DER. */
export function parseCertificate(der: Uint8Array): Certificate | string {
  const x509 = openX509(der);
  const parts = partsOf(der);
  // OpenSSL also reads PEM, and ignores bytes after the certificate.
  if (x509 === undefined || parts === undefined || Buffer.compare(x509.raw, der) !== 0) {
    return "expected an X.509 certificate in DER";
  }
  const { version, serial, validity, subject, issuer, spki, signatureAlgorithm, extensions } = parts;
  // RFC 5280 section 4.1.2.1. OpenSSL reads the extensions of any version, and other verifiers do not.
  if (extensions !== undefined && !isVersion3(version)) return "it has extensions, and its version is not 3";
  // RFC 5280 section 4.1.2.2. Verifiers in Go refuse the certificate, and some of them the whole key set.
  if (serial.tag !== TAG.integer || (serial.contents[0] ?? 0x80) >= 0x80) return "its serial number is negative";
  if (!isName(subject) || !isName(issuer)) return "its subject or its issuer is not a name in DER";
  const [notBefore, notAfter] = (derElements(validity.contents) ?? []).map(timeOf);
  if (notBefore === undefined || notAfter === undefined) return "the validity is not two times in DER";
  const read = readExtensions(extensions);
  if (typeof read === "string") return read;
  return {
    ...read,
    der,
    x509,
    spki: spki.whole,
    notBefore,
    notAfter,
    isSelfIssued: Buffer.compare(subject.whole, issuer.whole) === 0,
    signatureAlgorithm: signatureAlgorithm.whole,
  };
}

function openX509(der: Uint8Array): X509Certificate | undefined {
  try {
    return new X509Certificate(der);
  } catch {
    return undefined;
  }
}

interface Parts {
  readonly version: DerElement | undefined;
  readonly serial: DerElement;
  readonly signatureAlgorithm: DerElement;
  readonly issuer: DerElement;
  readonly validity: DerElement;
  readonly subject: DerElement;
  readonly spki: DerElement;
  readonly extensions: Uint8Array | undefined;
}

const VERSION = 0xa0;
const EXTENSIONS = 0xa3;

function partsOf(der: Uint8Array): Parts | undefined {
  const [tbs, signatureAlgorithm, signature, ...others] = derElementsOf(der, TAG.sequence) ?? [];
  if (tbs?.tag !== TAG.sequence || signatureAlgorithm === undefined || signature === undefined) return undefined;
  const members = derElements(tbs.contents) ?? [];
  const version = members[0]?.tag === VERSION ? members[0] : undefined;
  const [serial, stated, issuer, validity, subject, spki, ...optional] =
    version === undefined ? members : members.slice(1);
  if (
    others.length > 0 ||
    serial === undefined ||
    issuer === undefined ||
    validity === undefined ||
    subject === undefined ||
    spki === undefined
  ) {
    return undefined;
  }
  // RFC 5280 section 4.1.1.2: the algorithm is there twice, once below the signature.
  if (stated === undefined || Buffer.compare(stated.whole, signatureAlgorithm.whole) !== 0) return undefined;
  const extensions = optional.find(({ tag }) => tag === EXTENSIONS)?.contents;
  return { version, serial, signatureAlgorithm, issuer, validity, subject, spki, extensions };
}

/** RFC 5280 section 4.1.2.4: a sequence of sets, each of a type and its value. */
function isName({ tag, contents }: DerElement): boolean {
  const sets = tag === TAG.sequence ? derElements(contents) : undefined;
  return sets !== undefined && sets.every((set) => set.tag === TAG.set);
}

/** INTEGER 2: versions are counted from 0. */
function isVersion3(version: DerElement | undefined): boolean {
  return version !== undefined && Buffer.from(version.contents).toString("hex") === "020102";
}

/** Milliseconds since 1970. RFC 5280 section 4.1.2.5: with seconds and `Z`, and two digits of the year before 2050. */
function timeOf({ tag, contents }: DerElement): number | undefined {
  const text = Buffer.from(contents).toString("latin1");
  const [, year = "", month, day, hour, minute, second] =
    /^(\d{2}|\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(text) ?? [];
  if (year.length !== (tag === TAG.utcTime ? 2 : 4) || (tag !== TAG.utcTime && tag !== TAG.generalizedTime))
    return undefined;
  const full = year.length === 4 ? year : `${Number(year) < 50 ? "20" : "19"}${year}`;
  const written = `${full}-${month}-${day}T${hour}:${minute}:${second}.000Z`;
  const time = new Date(written);
  // JavaScript reads the 30th of February as the 2nd of March.
  return Number.isNaN(time.getTime()) || time.toISOString() !== written ? undefined : time.getTime();
}
