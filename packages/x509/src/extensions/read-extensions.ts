import { ConfigurationError } from "@signpost/core";
import { assertOptions, copiedBytes, given, readFlag, readWholeNumber, type OptionNames } from "@signpost/core/adapter";
import { BasicConstraints } from "pkijs";
import { derOf, isOneDerElement } from "../encode/der.ts";
import { readOid } from "../encode/oid.ts";
import { OID, RESERVED, type ExtensionValue } from "./extension.ts";
import {
  encodeKeyUsage,
  encodePurposes,
  readKeyUsage,
  readPurposes,
  type CertificateKeyUsage,
  type CertificatePurpose,
} from "./usages.ts";

/** An extension that Signpost does not know, as its object identifier and its value. */
export interface CustomExtension {
  /** The object identifier in dotted form. Not that of an extension for which there is an option. */
  readonly oid: string;
  /** The value: exactly one DER element, without the OCTET STRING around it. At most 65,536 bytes. */
  readonly der: Uint8Array;
  /** Whether who does not know the extension must refuse the certificate. Default false. */
  readonly critical?: boolean | undefined;
}

/** Whether the certificate is that of a certificate authority (RFC 5280 section 4.2.1.9). */
export interface CertificateBasicConstraints {
  /** Whether the key may sign certificates. */
  readonly ca: boolean;
  /** The most certificates of authorities between this one and a leaf. 0 to 255, only with `ca`. Default no limit. */
  readonly pathLength?: number | undefined;
}

/** Which extensions are critical. Each default is that of RFC 5280. */
export interface CriticalExtensions {
  /** Default true. */
  readonly keyUsage?: boolean | undefined;
  /** Default false. */
  readonly extendedKeyUsage?: boolean | undefined;
  /** Default true for an authority, which must have it so; otherwise false. */
  readonly basicConstraints?: boolean | undefined;
  /** Default false; true if the subject is empty, which must have it so. */
  readonly subjectAltNames?: boolean | undefined;
}

/** The extensions of a certificate, and of a request for one. */
export interface CertificateExtensions {
  /**
   * The uses of the key. `false` leaves the extension out. Default `["digitalSignature"]`, and for an authority also
   * `"keyCertSign"` and `"cRLSign"`.
   */
  readonly keyUsage?: readonly CertificateKeyUsage[] | false | undefined;
  /** The purposes of the key. Default none. */
  readonly extendedKeyUsage?: readonly CertificatePurpose[] | undefined;
  /** Whether it is the certificate of an authority. Default: the extension is left out, which means that it is not. */
  readonly basicConstraints?: CertificateBasicConstraints | undefined;
  /** Which of these extensions are critical. */
  readonly critical?: CriticalExtensions | undefined;
  /** Other extensions. At most 32. Default none. */
  readonly custom?: readonly CustomExtension[] | undefined;
}

const EXTENSIONS: OptionNames<CertificateExtensions> = {
  keyUsage: true,
  extendedKeyUsage: true,
  basicConstraints: true,
  critical: true,
  custom: true,
};
const CRITICAL: OptionNames<CriticalExtensions> = {
  keyUsage: true,
  extendedKeyUsage: true,
  basicConstraints: true,
  subjectAltNames: true,
};
const CUSTOM: OptionNames<CustomExtension> = { oid: true, der: true, critical: true };
const MOST_CUSTOM = 32;

/** What the extensions of a certificate or a request follow from. */
export interface Extended {
  readonly extensions: unknown;
  /** GeneralNames in DER. */
  readonly altNames: Uint8Array | undefined;
  readonly isSubjectEmpty: boolean;
}

/** Reads the extensions that a caller gave. The order is that of most certificates. */
export function readExtensions({ extensions = {}, altNames, isSubjectEmpty }: Extended): readonly ExtensionValue[] {
  assertOptions("extensions", extensions, EXTENSIONS);
  const {
    keyUsage,
    extendedKeyUsage,
    basicConstraints,
    critical = {},
    custom = [],
  } = extensions as CertificateExtensions;
  assertOptions("extensions.critical", critical, CRITICAL);
  const isCritical = (name: keyof CriticalExtensions, fallback: boolean): boolean =>
    readFlag(`extensions.critical.${name}`, critical[name], fallback);
  const constraints = readConstraints(basicConstraints);
  const isAuthority = constraints?.ca === true;
  const usages = readUsages(keyUsage, isAuthority);
  requireTogether(usages, constraints);
  const values: (ExtensionValue | undefined)[] = [
    constraints && {
      oid: OID.basicConstraints,
      critical: require(isAuthority, "basicConstraints", isCritical("basicConstraints", isAuthority)),
      der: encodeConstraints(constraints),
    },
    usages && { oid: OID.keyUsage, critical: isCritical("keyUsage", true), der: encodeKeyUsage(usages) },
    extendedKeyUsage === undefined
      ? undefined
      : {
          oid: OID.extendedKeyUsage,
          critical: isCritical("extendedKeyUsage", false),
          der: encodePurposes(readPurposes("extensions.extendedKeyUsage", extendedKeyUsage)),
        },
    altNames && {
      oid: OID.subjectAltName,
      critical: require(isSubjectEmpty, "subjectAltNames", isCritical("subjectAltNames", isSubjectEmpty)),
      der: altNames,
    },
  ];
  return [...values.filter((value) => value !== undefined), ...readCustom(custom)];
}

function readUsages(value: CertificateExtensions["keyUsage"], isAuthority: boolean): readonly string[] | undefined {
  if (value === false) return undefined;
  if (value !== undefined) return readKeyUsage("extensions.keyUsage", value);
  return isAuthority ? ["digitalSignature", "keyCertSign", "cRLSign"] : ["digitalSignature"];
}

function readConstraints(value: unknown): CertificateBasicConstraints | undefined {
  if (value === undefined) return undefined;
  const argument = "extensions.basicConstraints";
  assertOptions<CertificateBasicConstraints>(argument, value, { ca: true, pathLength: true });
  const { ca, pathLength } = value as CertificateBasicConstraints;
  if (typeof ca !== "boolean")
    throw new ConfigurationError(`${argument}.ca`, `expected true or false, got ${given(ca)}`);
  if (pathLength === undefined) return { ca };
  if (!ca) throw new ConfigurationError(`${argument}.pathLength`, "not allowed without ca: true");
  return { ca, pathLength: readWholeNumber(`${argument}.pathLength`, pathLength, 0, 255) };
}

function encodeConstraints({ ca, pathLength }: CertificateBasicConstraints): Uint8Array {
  const limit = pathLength === undefined ? {} : { pathLenConstraint: pathLength };
  return derOf(new BasicConstraints({ cA: ca, ...limit }).toSchema());
}

/** RFC 5280 sections 4.2.1.3 and 4.2.1.9. */
function requireTogether(
  usages: readonly string[] | undefined,
  constraints: CertificateBasicConstraints | undefined,
): void {
  const signsCertificates = usages?.includes("keyCertSign") === true;
  if (signsCertificates && constraints?.ca !== true) {
    throw new ConfigurationError("extensions.keyUsage", "keyCertSign needs basicConstraints: { ca: true }");
  }
  if (constraints?.ca === true && !signsCertificates) {
    throw new ConfigurationError("extensions.keyUsage", "basicConstraints: { ca: true } needs keyCertSign");
  }
}

function require(isRequired: boolean, name: keyof CriticalExtensions, critical: boolean): boolean {
  if (critical || !isRequired) return critical;
  const why = name === "basicConstraints" ? "for an authority" : "if the subject is empty";
  throw new ConfigurationError(`extensions.critical.${name}`, `expected true ${why} (RFC 5280), got false`);
}

function readCustom(value: unknown): readonly ExtensionValue[] {
  const argument = "extensions.custom";
  if (!Array.isArray(value) || value.length > MOST_CUSTOM) {
    throw new ConfigurationError(argument, `expected an array of at most ${MOST_CUSTOM} extensions`);
  }
  const oids = new Set<string>();
  return value.map((each: unknown, index) => {
    const place = `${argument}[${index}]`;
    assertOptions(place, each, CUSTOM);
    const { oid, der, critical } = each as CustomExtension;
    const name = readOid(`${place}.oid`, oid);
    const option = RESERVED.get(name);
    if (option !== undefined) throw new ConfigurationError(`${place}.oid`, `${name} is ${option}`);
    if (oids.has(name)) throw new ConfigurationError(`${place}.oid`, `${name} is in the list twice`);
    oids.add(name);
    // A copy, since a subclass may report any length.
    const bytes = copiedBytes(der);
    if (bytes === undefined || !isOneDerElement(bytes)) {
      throw new ConfigurationError(
        `${place}.der`,
        `expected a Uint8Array with exactly one DER element, got ${given(der)}`,
      );
    }
    return { oid: name, critical: readFlag(`${place}.critical`, critical), der: bytes };
  });
}
