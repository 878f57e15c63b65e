import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { GuardedSigner } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { createCsr, readCertificates, selfSigned } from "@signpost/x509";

// Each limit from both sides: the most that is taken, and what is refused because it is one more.

let signer: GuardedSigner;
let pem: string;

beforeAll(async () => {
  signer = await openLocalSigner();
  ({ pem } = await selfSigned(signer, { subject: "CN=op" }));
});
afterAll(() => signer.close());

const subject = "CN=op";
const extended = (extensions: object): object => ({ subject, extensions });
const named = (alternative: object): object => ({ subject, subjectAltNames: [alternative] });
/** A value of that many bytes in DER, with its length in two bytes. */
const octets = (size: number): Uint8Array => {
  const contents = size - 4;
  return Uint8Array.from([4, 0x82, contents >> 8, contents & 0xff, ...new Uint8Array(contents)]);
};
/** A value inside so many sequences. */
const nested = (depth: number): Uint8Array => {
  let der = Uint8Array.of(5, 0);
  for (let level = 0; level < depth; level += 1) {
    der = Uint8Array.from(der.length < 0x80 ? [0x30, der.length, ...der] : [0x30, 0x81, der.length, ...der]);
  }
  return der;
};
const customs = (count: number): object =>
  extended({
    custom: Array.from({ length: count }, (_, index) => ({ oid: `1.2.3.${index}`, der: Uint8Array.of(5, 0) })),
  });
const customValue = (der: Uint8Array): object => extended({ custom: [{ oid: "1.2.3", der }] });
const label = (length: number): string => "a".repeat(length);
const domain = (length: number): string => `${label(63)}.${label(63)}.${label(63)}.${label(length - 192)}`;
const oid = (length: number): string => `1.2.${"1".repeat(length - 4)}`;

interface Limit {
  readonly what: string;
  readonly argument: string;
  readonly most: object;
  readonly more: object;
}

const LIMITS: readonly Limit[] = [
  {
    what: "names of the subject",
    argument: "subject",
    most: { subject: Array.from({ length: 64 }, () => ({ OU: "x" })) },
    more: { subject: Array.from({ length: 65 }, () => ({ OU: "x" })) },
  },
  {
    what: "characters of the subject as one text",
    argument: "subject",
    most: { subject: `2.5.4.4=${label(8192 - 8)}` },
    more: { subject: `2.5.4.4=${label(8193 - 8)}` },
  },
  {
    what: "alternative names",
    argument: "subjectAltNames",
    most: { subject, subjectAltNames: Array.from({ length: 1000 }, (_, index) => ({ dns: `${index}.example` })) },
    more: { subject, subjectAltNames: Array.from({ length: 1001 }, (_, index) => ({ dns: `${index}.example` })) },
  },
  {
    what: "characters of a label",
    argument: "subjectAltNames[0].dns",
    most: named({ dns: `${label(63)}.example` }),
    more: named({ dns: `${label(64)}.example` }),
  },
  {
    what: "characters of a domain name",
    argument: "subjectAltNames[0].dns",
    most: named({ dns: domain(253) }),
    more: named({ dns: domain(254) }),
  },
  {
    what: "characters before the @",
    argument: "subjectAltNames[0].email",
    most: named({ email: `${label(64)}@op.example` }),
    more: named({ email: `${label(65)}@op.example` }),
  },
  {
    what: "the port of a URI",
    argument: "subjectAltNames[0].uri",
    most: named({ uri: "https://op.example:65535/" }),
    more: named({ uri: "https://op.example:65536/" }),
  },
  {
    what: "characters of an object identifier",
    argument: "subjectAltNames[0].registeredId",
    most: named({ registeredId: oid(128) }),
    more: named({ registeredId: oid(129) }),
  },
  { what: "custom extensions", argument: "extensions.custom", most: customs(32), more: customs(33) },
  {
    what: "bytes of a custom extension",
    argument: "extensions.custom[0].der",
    most: customValue(octets(65_536 - 1)),
    more: customValue(octets(65_536 + 1)),
  },
  {
    what: "levels of a custom extension",
    argument: "extensions.custom[0].der",
    most: customValue(nested(32)),
    more: customValue(nested(33)),
  },
  {
    what: "authorities below one",
    argument: "extensions.basicConstraints.pathLength",
    most: extended({ basicConstraints: { ca: true, pathLength: 255 } }),
    more: extended({ basicConstraints: { ca: true, pathLength: 256 } }),
  },
];

describe.each(LIMITS)("$what", ({ argument, most, more }) => {
  test("are taken up to the limit", async () => {
    await expect(createCsr(signer, most as never)).resolves.toHaveProperty("der");
  });

  test("are refused above it", async () => {
    await expect(createCsr(signer, more as never)).rejects.toMatchObject({ name: "ConfigurationError", argument });
  });
});

test("a certificate is valid for 1 to 36,525 days, and its serial number has 1 to 20 bytes", async () => {
  const notBefore = "2027-01-01T00:00:00Z";
  for (const [validityDays, notAfter] of [
    [1, "2027-01-01T23:59:59.000Z"],
    [36_525, "2127-01-01T23:59:59.000Z"],
  ] as const) {
    const [info] = readCertificates((await selfSigned(signer, { subject, notBefore, validityDays })).pem);
    expect(info?.notAfter.toISOString()).toBe(notAfter);
  }
  for (const validityDays of [0, 36_526])
    await expect(selfSigned(signer, { subject, validityDays })).rejects.toMatchObject({ argument: "validityDays" });
  for (const serialNumber of ["01", "7f".repeat(20)])
    await expect(selfSigned(signer, { subject, serialNumber })).resolves.toHaveProperty("pem");
  for (const serialNumber of ["00", "7f".repeat(21)])
    await expect(selfSigned(signer, { subject, serialNumber })).rejects.toMatchObject({ argument: "serialNumber" });
});

test("1 to 32 certificates are read at once", () => {
  expect(readCertificates(pem.repeat(32))).toHaveLength(32);
  for (const count of [0, 33]) {
    expect(() => readCertificates(pem.repeat(count))).toThrow(
      expect.objectContaining({ argument: "certificates", message: expect.stringContaining(`got ${count}`) }),
    );
  }
});

test("a value that is written as DER stays as it is", async () => {
  const { pem: made } = await selfSigned(signer, { subject: "1.2.3=#0c036f7073,CN=op" });
  expect(readCertificates(made)[0]?.der).toBeInstanceOf(Uint8Array);
  expect(Buffer.from(readCertificates(made)[0]?.der ?? []).includes(Buffer.from("0c036f7073", "hex"))).toBe(true);
  const asPrintable = await selfSigned(signer, { subject: "1.2.3=#13036f7073,CN=op" });
  expect(Buffer.from(asPrintable.der).includes(Buffer.from("13036f7073", "hex"))).toBe(true);
});

test("the certificate that cannot be read is named, with what is wrong", () => {
  const [info] = readCertificates(pem);
  const x5c = Buffer.from(info?.der ?? []).toString("base64");
  const nothing = Buffer.from([0x30, 0x00]).toString("base64");
  expect(readCertificates([x5c, x5c])).toHaveLength(2);
  expect(() => readCertificates([x5c, `${x5c}\n`])).toThrow(
    expect.objectContaining({ argument: "certificates[1]", message: expect.stringContaining("base64 with padding") }),
  );
  expect(() => readCertificates([x5c, nothing])).toThrow(
    expect.objectContaining({ argument: "certificates[1]", cause: expect.any(Error) }),
  );
});

/** RFC 5280 appendix A.1, RFC 4519, ETSI EN 319 412-1: each name of an attribute, and the most characters of its value. */
const ATTRIBUTES: readonly (readonly [
  names: readonly string[],
  oid: string,
  longest: number,
  value?: (length: number) => string,
])[] = [
  [["CN", "commonName"], "2.5.4.3", 64],
  [["SN", "surname"], "2.5.4.4", 32_768],
  [["serialNumber"], "2.5.4.5", 64],
  [["C", "countryName"], "2.5.4.6", 2, (length) => "D".repeat(length)],
  [["L", "localityName"], "2.5.4.7", 128],
  [["ST", "stateOrProvinceName"], "2.5.4.8", 128],
  [["STREET", "streetAddress"], "2.5.4.9", 128],
  [["O", "organizationName"], "2.5.4.10", 64],
  [["OU", "organizationalUnitName"], "2.5.4.11", 64],
  [["title"], "2.5.4.12", 64],
  [["businessCategory"], "2.5.4.15", 128],
  [["postalCode"], "2.5.4.17", 40],
  [["name"], "2.5.4.41", 32_768],
  [["GN", "givenName"], "2.5.4.42", 32_768],
  [["initials"], "2.5.4.43", 32_768],
  [["generationQualifier"], "2.5.4.44", 32_768],
  [["dnQualifier"], "2.5.4.46", 32_768],
  [["pseudonym"], "2.5.4.65", 128],
  [["organizationIdentifier"], "2.5.4.97", 32_768],
  [["UID", "userId"], "0.9.2342.19200300.100.1.1", 256],
  [["DC", "domainComponent"], "0.9.2342.19200300.100.1.25", 63],
  [["emailAddress", "E"], "1.2.840.113549.1.9.1", 255, (length) => `${"a".repeat(length - 2)}@b`],
  [["jurisdictionLocalityName"], "1.3.6.1.4.1.311.60.2.1.1", 128],
  [["jurisdictionStateOrProvinceName"], "1.3.6.1.4.1.311.60.2.1.2", 128],
  [["jurisdictionCountryName"], "1.3.6.1.4.1.311.60.2.1.3", 2, (length) => "D".repeat(length)],
];

test.each(["serialNumber", "countryName", "dnQualifier", "jurisdictionCountryName"])(
  "the attribute %s is a PrintableString",
  async (name) => {
    await expect(createCsr(signer, { subject: [{ [name]: "A_" }] })).rejects.toMatchObject({
      message: expect.stringContaining("PrintableString"),
    });
    await expect(createCsr(signer, { subject: [{ [name]: "DE" }] })).resolves.toHaveProperty("der");
  },
);

test("the alternative names of a certificate with a subject may be critical or not, as the caller says", async () => {
  for (const subjectAltNames of [true, false]) {
    const extensions = { critical: { subjectAltNames } };
    const made = selfSigned(signer, { subject, subjectAltNames: [{ dns: "op.example" }], extensions });
    await expect(made).resolves.toHaveProperty("pem");
  }
});

const ROWS = ATTRIBUTES.map(([names, dotted, longest, value = (length: number) => "a".repeat(length)]) => ({
  names,
  dotted,
  longest,
  value,
}));

describe.each(ROWS)("the attribute $names", ({ names, dotted, longest, value }) => {
  test("is the same under each of its names, in any case, and under its object identifier", async () => {
    const [main = ""] = names;
    const text = value(Math.min(longest, 4));
    const subjects = [...names, main.toLowerCase(), main.toUpperCase(), dotted].map(async (name) => {
      const made = await selfSigned(signer, { subject: [{ [name]: text }] });
      return readCertificates(made.pem)[0]?.subject;
    });
    expect(new Set(await Promise.all(subjects))).toEqual(new Set([`${main}=${text}`]));
  });

  test(`has at most ${longest} characters`, async () => {
    const [main = ""] = names;
    await expect(createCsr(signer, { subject: [{ [main]: value(longest) }] })).resolves.toHaveProperty("der");
    await expect(createCsr(signer, { subject: [{ [main]: value(longest + 1) }] })).rejects.toMatchObject({
      argument: `subject[0].${main}`,
      message: expect.stringContaining(`at most ${longest} characters`),
    });
  });
});
