import { createHash, randomBytes } from "node:crypto";
import { Integer, OctetString } from "asn1js";
import { AuthorityKeyIdentifier } from "pkijs";
import { ConfigurationError, jwkToSpki, type Signer } from "@signpost/core";
import { assertOptions, given, readSignal, readWholeNumber, type OptionNames } from "@signpost/core/adapter";
import { contextTagged, derOf, exactBuffer, sequence } from "./encode/der.ts";
import type { EncodedCertificate } from "./encode/pem.ts";
import { encodeTime, readTime, wholeSeconds } from "./encode/time.ts";
import { encodeExtensions, type ExtensionValue, OID } from "./extensions/extension.ts";
import { readExtensions, type CertificateExtensions } from "./extensions/read-extensions.ts";
import { readAltNames, type SubjectAltName } from "./names/alt-names.ts";
import { encodeName } from "./names/encode-name.ts";
import { readName, type DistinguishedName } from "./names/read-name.ts";
import { readSigner } from "./read-signer.ts";
import { SIGNATURE_ALGORITHM, signStructure } from "./sign-structure.ts";

/** Options of `selfSigned`. */
export interface SelfSignedOptions {
  /** The subject, which is also the issuer. Not empty. */
  readonly subject: DistinguishedName;
  /** Other names of the subject. At most 1000. Default none. */
  readonly subjectAltNames?: readonly SubjectAltName[] | undefined;
  /** Extensions. Default: `keyUsage` with `digitalSignature`. The identifiers of the key are always there. */
  readonly extensions?: CertificateExtensions | undefined;
  /**
   * From when the certificate is valid, as a Date or a date and time of RFC 3339, in the years 1950 to 9999. Fractions of a
   * second are dropped. Default now.
   */
  readonly notBefore?: Date | string | undefined;
  /** The last second in which it is valid, in the same form. Not together with `validityDays`. */
  readonly notAfter?: Date | string | undefined;
  /** For how many days it is valid, from `notBefore`. 1 to 36,525. Default 365. */
  readonly validityDays?: number | undefined;
  /**
   * The serial number as hexadecimal digits: positive, at most 20 bytes (RFC 5280 section 4.1.2.2). Default: 20 random bytes.
   */
  readonly serialNumber?: string | undefined;
  /** Aborts the signature. The call then rejects with `SignerError` `aborted`. */
  readonly signal?: AbortSignal | undefined;
}

const OPTIONS: OptionNames<SelfSignedOptions> = {
  subject: true,
  subjectAltNames: true,
  extensions: true,
  notBefore: true,
  notAfter: true,
  validityDays: true,
  serialNumber: true,
  signal: true,
};

const VERSION_3 = Uint8Array.of(0xa0, 0x03, 0x02, 0x01, 0x02);
const DAY_MS = 86_400_000;

/**
 * Creates an X.509 v3 certificate (RFC 5280) that the signer's key signs for itself: for development, and for HSMs that want a
 * certificate object next to a key. Relying parties trust no such certificate unless they were given it. The signature is
 * verified before the certificate is returned.
 *
 * @throws ConfigurationError for an invalid argument, which it names; SignerError as `signer.sign` does, and `bad_signature` if
 * the signature does not verify.
 * @example
 * ```ts
 * import { selfSigned } from "@signpost/x509";
 * import { openLocalSigner } from "@signpost/local";
 *
 * const signer = await openLocalSigner();
 * const { der } = await selfSigned(signer, { subject: [{ CN: "op.example" }], validityDays: 90 });
 * ```
 */
export async function selfSigned(signer: Signer, options: SelfSignedOptions): Promise<EncodedCertificate> {
  const key = readSigner(signer);
  assertOptions("options", options, OPTIONS);
  const signal = readSignal("signal", options.signal);
  const subject = readName("subject", options.subject);
  // The issuer must have a name (RFC 5280 section 4.1.2.4).
  if (subject.length === 0) throw new ConfigurationError("subject", "expected a name that is not empty");
  const name = encodeName(subject);
  const spki = jwkToSpki(key.publicKey);
  const altNames = readAltNames("subjectAltNames", options.subjectAltNames);
  const extensions = [
    ...keyIdentifiers(spki),
    ...readExtensions({ extensions: options.extensions, altNames, isSubjectEmpty: false }),
  ];
  const serialNumber = readSerialNumber(options.serialNumber);
  const { notBefore, notAfter } = readValidity(options);
  const certificate = sequence([
    VERSION_3,
    serialNumber,
    SIGNATURE_ALGORITHM,
    name,
    sequence([encodeTime(notBefore), encodeTime(notAfter)]),
    name,
    spki,
    contextTagged(3, [encodeExtensions(extensions)]),
  ]);
  return signStructure(key, "CERTIFICATE", certificate, signal);
}

const POINT_BYTES = 65;

/** By RFC 7093 section 2, method 1: 160 bits of the SHA-256 of the key. Some machines refuse SHA-1, which RFC 5280 uses. */
function keyIdentifiers(spki: Uint8Array): readonly ExtensionValue[] {
  const keyIdentifier = new OctetString({
    valueHex: exactBuffer(createHash("sha256").update(spki.subarray(-POINT_BYTES)).digest().subarray(0, 20)),
  });
  return [
    { oid: OID.subjectKeyIdentifier, critical: false, der: derOf(keyIdentifier) },
    {
      oid: OID.authorityKeyIdentifier,
      critical: false,
      der: derOf(new AuthorityKeyIdentifier({ keyIdentifier }).toSchema()),
    },
  ];
}

const SERIAL_BYTES = 20;

/** An INTEGER. The highest bit is 0, so that it is positive, and the next one is 1, so that it has all its bytes. */
function readSerialNumber(value: unknown): Uint8Array {
  if (value === undefined) {
    const bytes = randomBytes(SERIAL_BYTES);
    bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
    return integer(bytes);
  }
  const digits = typeof value === "string" && /^[\dA-Fa-f]{1,42}$/.test(value) ? value.replace(/^0+/, "") : "";
  const even = digits.length % 2 === 1 ? `0${digits}` : digits;
  const bytes = Buffer.from(/^[89A-Fa-f]/.test(even) ? `00${even}` : even, "hex");
  if (bytes.length >= 1 && bytes.length <= SERIAL_BYTES) return integer(bytes);
  throw new ConfigurationError(
    "serialNumber",
    `expected hexadecimal digits of a positive number of at most ${SERIAL_BYTES} bytes, got ${given(value)}`,
  );
}

function integer(bytes: Uint8Array): Uint8Array {
  return derOf(new Integer({ valueHex: exactBuffer(bytes) }));
}

function readValidity(options: SelfSignedOptions): { readonly notBefore: Date; readonly notAfter: Date } {
  const notBefore =
    options.notBefore === undefined ? wholeSeconds(Date.now()) : readTime("notBefore", options.notBefore);
  if (options.notAfter === undefined) {
    const days = readWholeNumber("validityDays", options.validityDays ?? 365, 1, 36_525);
    // The last second belongs to the certificate.
    return { notBefore, notAfter: readTime("notAfter", new Date(notBefore.getTime() + days * DAY_MS - 1000)) };
  }
  if (options.validityDays !== undefined) {
    throw new ConfigurationError("validityDays", "not allowed together with notAfter");
  }
  const notAfter = readTime("notAfter", options.notAfter);
  if (notAfter >= notBefore) return { notBefore, notAfter };
  throw new ConfigurationError(
    "notAfter",
    `expected a time after notBefore (${notBefore.toISOString()}), got ${notAfter.toISOString()}`,
  );
}
