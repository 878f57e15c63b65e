import { ConfigurationError } from "@signpost/core";
import { given } from "@signpost/core/adapter";
import { BitString } from "asn1js";
import { ExtKeyUsage } from "pkijs";
import { derOf, exactBuffer } from "../encode/der.ts";
import { dottedOid, isOid } from "../encode/oid.ts";

/**
 * A use of the key (RFC 5280 section 4.2.1.3). The others are for keys that encrypt or agree on keys, and a key of Signpost only
 * signs. `contentCommitment` is also known as nonRepudiation.
 */
export type CertificateKeyUsage = "digitalSignature" | "contentCommitment" | "keyCertSign" | "cRLSign";

/** The bits of KeyUsage by number. */
export const KEY_USAGE_BITS: readonly string[] = [
  "digitalSignature",
  "contentCommitment",
  "keyEncipherment",
  "dataEncipherment",
  "keyAgreement",
  "keyCertSign",
  "cRLSign",
  "encipherOnly",
  "decipherOnly",
];

const OF_SIGNING_KEYS: readonly string[] = ["digitalSignature", "contentCommitment", "keyCertSign", "cRLSign"];

/** A purpose by its name in RFC 5280 section 4.2.1.12, or by its object identifier. */
export type CertificatePurpose =
  | "serverAuth"
  | "clientAuth"
  | "codeSigning"
  | "emailProtection"
  | "timeStamping"
  | "OCSPSigning"
  | (string & {});

const PURPOSES: Readonly<Record<string, string>> = {
  serverAuth: "1.3.6.1.5.5.7.3.1",
  clientAuth: "1.3.6.1.5.5.7.3.2",
  codeSigning: "1.3.6.1.5.5.7.3.3",
  emailProtection: "1.3.6.1.5.5.7.3.4",
  timeStamping: "1.3.6.1.5.5.7.3.8",
  OCSPSigning: "1.3.6.1.5.5.7.3.9",
};

/** The name of a purpose, or its object identifier. */
export function purposeName(oid: string): string {
  return Object.entries(PURPOSES).find(([, each]) => each === oid)?.[0] ?? dottedOid(oid);
}

/** Reads `keyUsage`. */
export function readKeyUsage(argument: string, value: unknown): readonly string[] {
  return readList(argument, value, (text) => OF_SIGNING_KEYS.includes(text), `one of ${OF_SIGNING_KEYS.join(", ")}`);
}

/** Reads `extendedKeyUsage`, and returns object identifiers. */
export function readPurposes(argument: string, value: unknown): readonly string[] {
  const expected = `one of ${Object.keys(PURPOSES).join(", ")}, or an object identifier`;
  const isPurpose = (text: string): boolean => Object.hasOwn(PURPOSES, text) || isOid(text);
  const oids = readList(argument, value, isPurpose, expected).map((text) => PURPOSES[text] ?? text);
  const twice = oids.findIndex((oid, index) => oids.indexOf(oid) !== index);
  if (twice === -1) return oids;
  throw new ConfigurationError(`${argument}[${twice}]`, "is in the list twice");
}

function readList(
  argument: string,
  value: unknown,
  accepts: (text: string) => boolean,
  expected: string,
): readonly string[] {
  if (!Array.isArray(value) || value.length === 0) {
    throw new ConfigurationError(
      argument,
      `expected an array with ${expected}, got ${Array.isArray(value) ? "an empty one" : given(value)}`,
    );
  }
  return value.map((each: unknown, index) => {
    if (typeof each !== "string" || !accepts(each)) {
      throw new ConfigurationError(`${argument}[${index}]`, `expected ${expected}, got ${given(each)}`);
    }
    if (value.indexOf(each) !== index) throw new ConfigurationError(`${argument}[${index}]`, "is in the list twice");
    return each;
  });
}

/** KeyUsage in DER: a named bit list, without zero bits at its end (X.690 section 11.2.2). */
export function encodeKeyUsage(usages: readonly string[]): Uint8Array {
  const bits = usages.map((usage) => KEY_USAGE_BITS.indexOf(usage));
  // The bits of a signing key are all in the first byte.
  const byte = bits.reduce((sum, bit) => sum | (0x80 >> bit), 0);
  return derOf(new BitString({ valueHex: exactBuffer(Uint8Array.of(byte)), unusedBits: 7 - Math.max(...bits) }));
}

/** ExtKeyUsageSyntax in DER. */
export function encodePurposes(oids: readonly string[]): Uint8Array {
  return derOf(new ExtKeyUsage({ keyPurposes: [...oids] }).toSchema());
}
