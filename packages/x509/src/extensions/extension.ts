import { Extension, Extensions } from "pkijs";
import { derOf, exactBuffer } from "../encode/der.ts";

/** An extension with its value in DER. */
export interface ExtensionValue {
  readonly oid: string;
  readonly critical: boolean;
  readonly der: Uint8Array;
}

/** Object identifiers of RFC 5280 section 4.2.1. */
export const OID = {
  subjectKeyIdentifier: "2.5.29.14",
  keyUsage: "2.5.29.15",
  subjectAltName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  authorityKeyIdentifier: "2.5.29.35",
  extendedKeyUsage: "2.5.29.37",
} as const;

/** Extensions that are not custom ones, and what writes them. */
export const RESERVED: ReadonlyMap<string, string> = new Map([
  [OID.subjectKeyIdentifier, "written by selfSigned, or by the authority"],
  [OID.authorityKeyIdentifier, "written by selfSigned, or by the authority"],
  [OID.keyUsage, "the option keyUsage"],
  [OID.subjectAltName, "the option subjectAltNames"],
  [OID.basicConstraints, "the option basicConstraints"],
  [OID.extendedKeyUsage, "the option extendedKeyUsage"],
]);

/** Extensions (RFC 5280 section 4.1) in DER. */
export function encodeExtensions(values: readonly ExtensionValue[]): Uint8Array {
  const extensions = values.map(
    ({ oid, critical, der }) => new Extension({ extnID: oid, critical, extnValue: exactBuffer(der) }),
  );
  return derOf(new Extensions({ extensions }).toSchema());
}
