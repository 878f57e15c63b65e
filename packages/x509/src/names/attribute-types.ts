/** The string types in which the value of an attribute can be encoded. */
export type AttributeStringType = "utf8" | "printable" | "ia5";

/** An attribute of a distinguished name. */
export interface AttributeType {
  readonly oid: string;
  /** Names for it. The first one is used to print. */
  readonly names: readonly [string, ...string[]];
  /** The string types that its definition allows. The first one is the default. */
  readonly strings: readonly [AttributeStringType, ...AttributeStringType[]];
  /** The most characters (RFC 5280 appendix A.1). */
  readonly longest: number;
  /** What a value looks like, if not any text does, with words for an error. */
  readonly form?: { readonly pattern: RegExp; readonly words: string };
}

/** DirectoryString: of its choices, RFC 5280 section 4.1.2.4 leaves these. */
const DIRECTORY = ["utf8", "printable"] as const;
const UB_NAME = 32_768;
const COUNTRY = { pattern: /^[A-Z]{2}$/, words: "two upper-case letters of ISO 3166, like DE" };

/**
 * The attributes of RFC 5280 appendix A.1, RFC 4519, ETSI EN 319 412-1 (`organizationIdentifier`) and the CA/Browser Forum's EV
 * guidelines.
 */
export const ATTRIBUTE_TYPES: readonly AttributeType[] = [
  { oid: "2.5.4.3", names: ["CN", "commonName"], strings: DIRECTORY, longest: 64 },
  { oid: "2.5.4.4", names: ["SN", "surname"], strings: DIRECTORY, longest: UB_NAME },
  { oid: "2.5.4.5", names: ["serialNumber"], strings: ["printable"], longest: 64 },
  { oid: "2.5.4.6", names: ["C", "countryName"], strings: ["printable"], longest: 2, form: COUNTRY },
  { oid: "2.5.4.7", names: ["L", "localityName"], strings: DIRECTORY, longest: 128 },
  { oid: "2.5.4.8", names: ["ST", "stateOrProvinceName"], strings: DIRECTORY, longest: 128 },
  { oid: "2.5.4.9", names: ["STREET", "streetAddress"], strings: DIRECTORY, longest: 128 },
  { oid: "2.5.4.10", names: ["O", "organizationName"], strings: DIRECTORY, longest: 64 },
  { oid: "2.5.4.11", names: ["OU", "organizationalUnitName"], strings: DIRECTORY, longest: 64 },
  { oid: "2.5.4.12", names: ["title"], strings: DIRECTORY, longest: 64 },
  { oid: "2.5.4.15", names: ["businessCategory"], strings: DIRECTORY, longest: 128 },
  { oid: "2.5.4.17", names: ["postalCode"], strings: DIRECTORY, longest: 40 },
  { oid: "2.5.4.41", names: ["name"], strings: DIRECTORY, longest: UB_NAME },
  { oid: "2.5.4.42", names: ["GN", "givenName"], strings: DIRECTORY, longest: UB_NAME },
  { oid: "2.5.4.43", names: ["initials"], strings: DIRECTORY, longest: UB_NAME },
  { oid: "2.5.4.44", names: ["generationQualifier"], strings: DIRECTORY, longest: UB_NAME },
  { oid: "2.5.4.46", names: ["dnQualifier"], strings: ["printable"], longest: UB_NAME },
  { oid: "2.5.4.65", names: ["pseudonym"], strings: DIRECTORY, longest: 128 },
  { oid: "2.5.4.97", names: ["organizationIdentifier"], strings: DIRECTORY, longest: UB_NAME },
  { oid: "0.9.2342.19200300.100.1.1", names: ["UID", "userId"], strings: DIRECTORY, longest: 256 },
  {
    oid: "0.9.2342.19200300.100.1.25",
    names: ["DC", "domainComponent"],
    strings: ["ia5"],
    longest: 63,
    form: { pattern: /^[A-Za-z\d](?:[A-Za-z\d-]*[A-Za-z\d])?$/, words: "one label of a domain name" },
  },
  {
    oid: "1.2.840.113549.1.9.1",
    names: ["emailAddress", "E"],
    strings: ["ia5"],
    longest: 255,
    form: { pattern: /^[^@\s]+@[^@\s]+$/, words: "an email address" },
  },
  {
    oid: "1.3.6.1.4.1.311.60.2.1.1",
    names: ["jurisdictionLocalityName"],
    strings: DIRECTORY,
    longest: 128,
  },
  {
    oid: "1.3.6.1.4.1.311.60.2.1.2",
    names: ["jurisdictionStateOrProvinceName"],
    strings: DIRECTORY,
    longest: 128,
  },
  {
    oid: "1.3.6.1.4.1.311.60.2.1.3",
    names: ["jurisdictionCountryName"],
    strings: ["printable"],
    longest: 2,
    form: COUNTRY,
  },
];

/** An attribute that the table does not have, by its object identifier. */
export function otherType(oid: string): AttributeType {
  return { oid, names: [oid], strings: ["utf8", "printable", "ia5"], longest: UB_NAME };
}

/** By a name in any case, or by its object identifier. */
export function attributeType(name: string): AttributeType | undefined {
  const wanted = name.toLowerCase();
  return ATTRIBUTE_TYPES.find(({ oid, names }) => oid === name || names.some((each) => each.toLowerCase() === wanted));
}
