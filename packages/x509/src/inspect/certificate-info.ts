import { createHash, type X509Certificate } from "node:crypto";
import { BitString, fromBER } from "asn1js";
import { AltName, AuthorityKeyIdentifier, BasicConstraints, Certificate, ExtKeyUsage, type Extension } from "pkijs";
import { jwkThumbprint } from "@signpost/core";
import { exactBuffer } from "../encode/der.ts";
import { dottedOid } from "../encode/oid.ts";
import { pemOf, type EncodedCertificate } from "../encode/pem.ts";
import { OID } from "../extensions/extension.ts";
import type { CertificateBasicConstraints } from "../extensions/read-extensions.ts";
import { KEY_USAGE_BITS, purposeName } from "../extensions/usages.ts";
import { certificateNames, type CertificateName } from "../names/certificate-names.ts";
import { formatName } from "../names/format-name.ts";
import { openX509 } from "./open-x509.ts";
import { readValidity } from "./read-validity.ts";

/** What a certificate says. Nothing in it has been verified. */
export interface CertificateInfo extends EncodedCertificate {
  /** The subject as a string of RFC 4514, the most specific name first. Empty if it has none. */
  readonly subject: string;
  /** The issuer, in the same form. */
  readonly issuer: string;
  /** The serial number in lower-case hexadecimal digits. */
  readonly serialNumber: string;
  /** From when it is valid. */
  readonly notBefore: Date;
  /** The last second in which it is valid. */
  readonly notAfter: Date;
  /** The other names of the subject. */
  readonly subjectAltNames: readonly CertificateName[];
  /** The uses of the key by their names in RFC 5280. Undefined if it does not limit them. */
  readonly keyUsage: readonly string[] | undefined;
  /** The purposes, by name or object identifier. Undefined if it does not limit them. */
  readonly extendedKeyUsage: readonly string[] | undefined;
  /** Whether it is that of an authority. Undefined if it does not say, which means that it is not. */
  readonly basicConstraints: CertificateBasicConstraints | undefined;
  /** The identifier of its key in lower-case hexadecimal digits. Undefined if it has none. */
  readonly subjectKeyIdentifier: string | undefined;
  /** The identifier of its issuer's key, in the same form. */
  readonly authorityKeyIdentifier: string | undefined;
  /** Critical extensions that are not in this list of members, by object identifier. */
  readonly otherCriticalExtensions: readonly string[];
  /** The type and size of the key: `EC P-256`, `RSA 2048`. */
  readonly keyType: string;
  /** The thumbprint of the key (RFC 7638), which is the default `kid`. Undefined if its type has none. */
  readonly thumbprint: string | undefined;
  /** The object identifier of the signature's algorithm. */
  readonly signatureAlgorithm: string;
  /** `x5t#S256`: the SHA-256 of the certificate in base64url (RFC 7515 section 4.1.8). */
  readonly x5tS256: string;
}

const KNOWN: readonly string[] = Object.values(OID);

/** Reads one certificate. Throws for anything that is none. */
export function certificateInfo(der: Uint8Array): CertificateInfo {
  // OpenSSL refuses some of what pkijs reads.
  const { publicKey } = openX509(der);
  const certificate = Certificate.fromBER(exactBuffer(der));
  const extensions = certificate.extensions ?? [];
  requireOnce(extensions);
  const valueOf = (oid: string): Uint8Array | undefined => extensionValue(extensions, oid);
  return {
    der: new Uint8Array(der),
    pem: pemOf("CERTIFICATE", der),
    subject: formatName(new Uint8Array(certificate.subject.valueBeforeDecode)),
    issuer: formatName(new Uint8Array(certificate.issuer.valueBeforeDecode)),
    serialNumber: hexOf(new Uint8Array(certificate.serialNumber.valueBlock.valueHexView)),
    ...readValidity(certificate.tbsView),
    subjectAltNames: altNames(valueOf(OID.subjectAltName)),
    keyUsage: keyUsage(valueOf(OID.keyUsage)),
    extendedKeyUsage: purposes(valueOf(OID.extendedKeyUsage)),
    basicConstraints: constraints(valueOf(OID.basicConstraints)),
    subjectKeyIdentifier: identifier(valueOf(OID.subjectKeyIdentifier)),
    authorityKeyIdentifier: authorityIdentifier(valueOf(OID.authorityKeyIdentifier)),
    otherCriticalExtensions: extensions
      .filter(({ critical, extnID }) => critical && !KNOWN.includes(extnID))
      .map(({ extnID }) => dottedOid(extnID)),
    ...keyOf(publicKey),
    signatureAlgorithm: dottedOid(certificate.signatureAlgorithm.algorithmId),
    x5tS256: createHash("sha256").update(der).digest("base64url"),
  };
}

/** RFC 5280 section 4.2. Programs differ in which of two they take. */
function requireOnce(extensions: readonly Extension[]): void {
  const oids = extensions.map(({ extnID }) => extnID);
  if (new Set(oids).size < oids.length) throw new SyntaxError("an extension is there twice");
}

function extensionValue(extensions: readonly Extension[], oid: string): Uint8Array | undefined {
  const found = extensions.find(({ extnID }) => extnID === oid);
  return found === undefined ? undefined : new Uint8Array(found.extnValue.getValue());
}

function altNames(der: Uint8Array | undefined): readonly CertificateName[] {
  if (der === undefined) return [];
  return certificateNames(AltName.fromBER(exactBuffer(der)).altNames);
}

function keyUsage(der: Uint8Array | undefined): readonly string[] | undefined {
  if (der === undefined) return undefined;
  const { result } = fromBER(exactBuffer(der));
  const bytes = result instanceof BitString ? result.valueBlock.valueHexView : new Uint8Array();
  return KEY_USAGE_BITS.filter((_, bit) => ((bytes[bit >> 3] ?? 0) & (0x80 >> (bit & 7))) !== 0);
}

function purposes(der: Uint8Array | undefined): readonly string[] | undefined {
  return der === undefined ? undefined : ExtKeyUsage.fromBER(exactBuffer(der)).keyPurposes.map(purposeName);
}

function constraints(der: Uint8Array | undefined): CertificateBasicConstraints | undefined {
  if (der === undefined) return undefined;
  const { cA, pathLenConstraint } = BasicConstraints.fromBER(exactBuffer(der));
  return { ca: cA, ...(typeof pathLenConstraint === "number" ? { pathLength: pathLenConstraint } : {}) };
}

function identifier(der: Uint8Array | undefined): string | undefined {
  // An OCTET STRING with a short length.
  return der === undefined ? undefined : hexOf(der.subarray(2));
}

function authorityIdentifier(der: Uint8Array | undefined): string | undefined {
  if (der === undefined) return undefined;
  const { keyIdentifier } = AuthorityKeyIdentifier.fromBER(exactBuffer(der));
  return keyIdentifier === undefined ? undefined : hexOf(keyIdentifier.valueBlock.valueHexView);
}

function keyOf(key: X509Certificate["publicKey"]): Pick<CertificateInfo, "keyType" | "thumbprint"> {
  const { namedCurve, modulusLength } = key.asymmetricKeyDetails ?? {};
  const curve = namedCurve === "prime256v1" ? "P-256" : namedCurve;
  const type = (key.asymmetricKeyType ?? "unknown").toUpperCase();
  return {
    keyType: [type, curve ?? modulusLength].filter((part) => part !== undefined).join(" "),
    thumbprint: thumbprintOf(key),
  };
}

function thumbprintOf(key: X509Certificate["publicKey"]): string | undefined {
  try {
    return jwkThumbprint(key.export({ format: "jwk" }));
  } catch {
    return undefined;
  }
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
