import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ConfigurationError, type GuardedSigner } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { createCsr, selfSigned } from "@signpost/x509";

let signer: GuardedSigner;

beforeAll(async () => {
  signer = await openLocalSigner();
});

afterAll(() => signer.close());

const SUBJECT = "CN=op";
const name = (value: unknown): object => ({ subject: SUBJECT, subjectAltNames: [value] });
const extended = (extensions: unknown): object => ({ subject: SUBJECT, extensions });

/** Options, the argument that the error names, and words of its message. */
type Refusal = readonly [options: unknown, argument: string, words: RegExp];

const SUBJECTS: readonly Refusal[] = [
  [{}, "subject", /expected a string like .* got undefined/],
  [{ subject: {} }, "subject", /got an object/],
  [{ subject: [] }, "subject", /expected a name/],
  [{ subject: " " }, "subject", /expected a name/],
  [{ subject: ["CN=op"] }, "subject[0]", /expected an object/],
  [{ subject: [{}] }, "subject[0]", /expected an attribute/],
  [{ subject: [{ CN: "" }] }, "subject[0].CN", /not empty, got an empty string/],
  [{ subject: [{ CN: 7 }] }, "subject[0].CN", /got 7/],
  [{ subject: [{ CN: "a".repeat(65) }] }, "subject[0].CN", /at most 64 characters, got 65/],
  [{ subject: [{ O: "\u{1f600}".repeat(65) }] }, "subject[0].O", /at most 64 characters, got 65/],
  [{ subject: [{ CN: "op\0.example" }] }, "subject[0].CN", /control characters/],
  [{ subject: [{ CN: "\ud800" }] }, "subject[0].CN", /lone surrogates/],
  [{ subject: "CN=\ud800" }, "subject", /lone surrogates/],
  [{ subject: [{ C: "de" }] }, "subject[0].C", /two upper-case letters/],
  [{ subject: [{ C: "DEU" }] }, "subject[0].C", /at most 2/],
  [{ subject: [{ C: "Ü1" }] }, "subject[0].C", /PrintableString/],
  [{ subject: [{ serialNumber: "a_b" }] }, "subject[0].serialNumber", /PrintableString/],
  [{ subject: [{ DC: "op.example" }] }, "subject[0].DC", /one label/],
  [{ subject: [{ emailAddress: "ö@op.example" }] }, "subject[0].emailAddress", /ASCII/],
  [{ subject: [{ emailAddress: "op" }] }, "subject[0].emailAddress", /email address/],
  [{ subject: [{ C: { text: "DE", encoding: "utf8" } }] }, "subject[0].C.encoding", /expected "printable"/],
  [{ subject: [{ CN: { text: "op", encoding: "bmp" } }] }, "subject[0].CN.encoding", /"utf8" or "printable"/],
  [{ subject: [{ CN: { text: "op_", encoding: "printable" } }] }, "subject[0].CN", /PrintableString/],
  [{ subject: [{ CN: { value: "op" } }] }, "subject[0].CN", /members text and encoding/],
  [{ subject: [{ organisationName: "x" }] }, "subject[0]", /did you mean organizationName/],
  [{ subject: [{ "3.1": "x" }] }, "subject[0]", /attribute 3.1 is not known/],
  [{ subject: [{ "1.40": "x" }] }, "subject[0]", /attribute 1.40 is not known/],
  [{ subject: [{ "a b": "x" }] }, "subject[0]", /attribute with this name is not known/],
  [{ subject: [{ CN: "a", commonName: "b" }] }, "subject", /CN twice/],
  [{ subject: Array.from({ length: 65 }, () => ({ OU: "x" })) }, "subject", /at most 64/],
  [{ subject: "/C=DE/CN=op" }, "subject", /OpenSSL's form/],
  [{ subject: "op.example" }, "subject", /RFC 4514/],
  [{ subject: "CN=a;O=b" }, "subject", /RFC 4514/],
  [{ subject: "CN=a,,O=b" }, "subject", /RFC 4514/],
  [{ subject: "CN=a," }, "subject", /RFC 4514/],
  [{ subject: 'CN="a"' }, "subject", /RFC 4514/],
  [{ subject: "CN=a\\" }, "subject", /RFC 4514/],
  [{ subject: "CN=a\\zz" }, "subject", /RFC 4514/],
  [{ subject: "CN=\\ff" }, "subject", /UTF-8/],
  [{ subject: "CN=" }, "subject (CN)", /not empty/],
  [{ subject: "CN=#0c026f70" }, "subject", /write the attribute CN as text/],
  [{ subject: "1.2.3=#0c036f70" }, "subject", /one DER value/],
  [{ subject: "1.2.3=#0c026f7000" }, "subject", /one DER value/],
  [{ subject: "1.2.3=#xx" }, "subject", /one DER value/],
  [{ subject: "1.2.3=#" }, "subject", /one DER value/],
  [{ subject: `CN=${"a".repeat(9000)}` }, "subject", /at most 8192/],
];

const NAMES: readonly Refusal[] = [
  [{ subject: SUBJECT, subjectAltNames: "op.example" }, "subjectAltNames", /an array, got a string/],
  [name("op.example"), "subjectAltNames[0]", /got a string/],
  [name({}), "subjectAltNames[0]", /0 members/],
  [name({ dns: "a.example", uri: "https://a.example" }), "subjectAltNames[0]", /2 members/],
  [name({ toString: "x" }), "subjectAltNames[0]", /one of email, dns/],
  [name({ dns: 7 }), "subjectAltNames[0].dns", /got 7/],
  [name({ dns: "" }), "subjectAltNames[0].dns", /not empty/],
  [name({ dns: "münchen.example" }), "subjectAltNames[0].dns", /A-labels .*: xn--mnchen-3ya.example/],
  [name({ dns: "*.münchen.example" }), "subjectAltNames[0].dns", /A-labels .*: xn--mnchen-3ya.example/],
  [name({ dns: "xn--zzzzzz999999.example" }), "subjectAltNames[0].dns", /valid A-labels/],
  [name({ dns: "op.xn--a" }), "subjectAltNames[0].dns", /valid A-labels/],
  [name({ dns: "xn--.example" }), "subjectAltNames[0].dns", /letters, digits/],
  [name({ uri: "https://xn--zzzzzz999999.example" }), "subjectAltNames[0].uri", /valid A-labels/],
  [name({ dns: "op_1.example" }), "subjectAltNames[0].dns", /letters, digits/],
  [name({ dns: "op.example." }), "subjectAltNames[0].dns", /dot at its end/],
  [name({ dns: "-op.example" }), "subjectAltNames[0].dns", /letters, digits/],
  [name({ dns: "a..example" }), "subjectAltNames[0].dns", /letters, digits/],
  [name({ dns: `${"a".repeat(64)}.example` }), "subjectAltNames[0].dns", /at most 63/],
  [name({ dns: `${"a.".repeat(130)}example` }), "subjectAltNames[0].dns", /253/],
  [name({ dns: "192.0.2.1" }), "subjectAltNames[0].dns", /as { ip }/],
  [name({ dns: "*" }), "subjectAltNames[0].dns", /letters, digits/],
  [name({ dns: "*.*.example" }), "subjectAltNames[0].dns", /letters, digits/],
  [name({ dns: "a.*.example" }), "subjectAltNames[0].dns", /letters, digits/],
  [name({ dns: "op example" }), "subjectAltNames[0].dns", /letters, digits/],
  [name({ email: "op.example" }), "subjectAltNames[0].email", /email address/],
  [name({ email: "a b@op.example" }), "subjectAltNames[0].email", /email address/],
  [name({ email: "ops@münchen.example" }), "subjectAltNames[0].email", /A-labels/],
  [name({ email: "Ops <ops@op.example>" }), "subjectAltNames[0].email", /email address/],
  [name({ uri: "op.example/x" }), "subjectAltNames[0].uri", /absolute/],
  [name({ uri: "https:" }), "subjectAltNames[0].uri", /absolute/],
  [name({ uri: "https://münchen.example" }), "subjectAltNames[0].uri", /A-labels/],
  [name({ uri: "https://op.example/a b" }), "subjectAltNames[0].uri", /absolute/],
  [name({ uri: "https://op.example/%zz" }), "subjectAltNames[0].uri", /absolute/],
  [name({ uri: "https://" }), "subjectAltNames[0].uri", /host/],
  [name({ uri: "https://user:secret@op.example" }), "subjectAltNames[0].uri", /no user name/],
  [name({ uri: "https://op_1.example" }), "subjectAltNames[0].uri", /host/],
  [name({ uri: "https://op.example:99999" }), "subjectAltNames[0].uri", /65535/],
  [name({ uri: "https://op.example:x" }), "subjectAltNames[0].uri", /host/],
  [name({ uri: "https://[::1" }), "subjectAltNames[0].uri", /host/],
  [name({ uri: "https://[::1%25eth0]/" }), "subjectAltNames[0].uri", /host/],
  [name({ uri: "https://op.example/[x]" }), "subjectAltNames[0].uri", /absolute/],
  [name({ uri: "https://op.example/#a#b" }), "subjectAltNames[0].uri", /absolute/],
  [name({ ip: "192.0.2.256" }), "subjectAltNames[0].ip", /IPv4 or IPv6/],
  [name({ ip: "192.0.2.0/24" }), "subjectAltNames[0].ip", /prefix/],
  [name({ ip: "fe80::1%eth0" }), "subjectAltNames[0].ip", /zone/],
  [name({ registeredId: "1.2.x" }), "subjectAltNames[0].registeredId", /object identifier/],
  [name({ registeredId: "1" }), "subjectAltNames[0].registeredId", /object identifier/],
  [
    { subject: SUBJECT, subjectAltNames: [{ dns: "op.example" }, { dns: "OP.example" }] },
    "subjectAltNames[1]",
    /twice/,
  ],
  [{ subject: SUBJECT, subjectAltNames: [{ ip: "::1" }, { ip: "0:0::1" }] }, "subjectAltNames[1]", /twice/],
  [{ subject: SUBJECT, subjectAltNames: Array.from({ length: 1001 }) }, "subjectAltNames", /at most 1000/],
];

const NULL_DER = Uint8Array.of(5, 0);
/** Says that it has two bytes, however many there are. */
class ShortBytes extends Uint8Array {
  override get length(): number {
    return 2;
  }
}
const custom = (value: unknown): object => extended({ custom: [value] });

const EXTENSIONS: readonly Refusal[] = [
  [extended(null), "extensions", /got null/],
  [extended({ keyUsages: [] }), "extensions.keyUsages", /did you mean keyUsage/],
  [extended({ keyUsage: [] }), "extensions.keyUsage", /an empty one/],
  [extended({ keyUsage: "digitalSignature" }), "extensions.keyUsage", /got a string/],
  [extended({ keyUsage: ["keyEncipherment"] }), "extensions.keyUsage[0]", /one of digitalSignature/],
  [extended({ keyUsage: ["digitalSignature", "digitalSignature"] }), "extensions.keyUsage[1]", /twice/],
  [extended({ keyUsage: ["keyCertSign"] }), "extensions.keyUsage", /needs basicConstraints/],
  [
    extended({ keyUsage: ["digitalSignature"], basicConstraints: { ca: true } }),
    "extensions.keyUsage",
    /needs keyCertSign/,
  ],
  [extended({ keyUsage: false, basicConstraints: { ca: true } }), "extensions.keyUsage", /needs keyCertSign/],
  [extended({ extendedKeyUsage: "" }), "extensions.extendedKeyUsage", /got an empty string/],
  [extended({ extendedKeyUsage: ["anything"] }), "extensions.extendedKeyUsage[0]", /serverAuth/],
  [extended({ extendedKeyUsage: ["toString"] }), "extensions.extendedKeyUsage[0]", /serverAuth/],
  [extended({ extendedKeyUsage: ["clientAuth", "1.3.6.1.5.5.7.3.2"] }), "extensions.extendedKeyUsage[1]", /twice/],
  [extended({ basicConstraints: {} }), "extensions.basicConstraints.ca", /true or false/],
  [extended({ basicConstraints: true }), "extensions.basicConstraints", /got true/],
  [extended({ basicConstraints: { ca: false, pathLength: 0 } }), "extensions.basicConstraints.pathLength", /ca: true/],
  [extended({ basicConstraints: { ca: true, pathLength: -1 } }), "extensions.basicConstraints.pathLength", /0 to 255/],
  [
    extended({ basicConstraints: { ca: true }, critical: { basicConstraints: false } }),
    "extensions.critical.basicConstraints",
    /expected true for an authority/,
  ],
  [
    { subject: [], subjectAltNames: [{ dns: "op.example" }], extensions: { critical: { subjectAltNames: false } } },
    "extensions.critical.subjectAltNames",
    /subject is empty/,
  ],
  [extended({ critical: { keyUsage: 1 } }), "extensions.critical.keyUsage", /true or false/],
  [extended({ custom: {} }), "extensions.custom", /an array/],
  [custom({ oid: "1.2.3" }), "extensions.custom[0].der", /got undefined/],
  [custom({ oid: "1.2.3", der: NULL_DER, critical: "yes" }), "extensions.custom[0].critical", /true or false/],
  [custom({ oid: "2.5.29.15", der: NULL_DER }), "extensions.custom[0].oid", /the option keyUsage/],
  [custom({ oid: "2.5.29.14", der: NULL_DER }), "extensions.custom[0].oid", /written by/],
  [custom({ oid: "1.2.3", der: Uint8Array.of(5, 0, 0) }), "extensions.custom[0].der", /exactly one DER/],
  [custom({ oid: "1.2.3", der: Uint8Array.of(4, 0x81, 1, 1) }), "extensions.custom[0].der", /exactly one DER/],
  [custom({ oid: "1.2.3", der: Uint8Array.of(0x30, 0x80, 0, 0) }), "extensions.custom[0].der", /exactly one DER/],
  [custom({ oid: "1.2.3", der: Uint8Array.of(0x30, 3, 5, 0, 5) }), "extensions.custom[0].der", /exactly one DER/],
  [custom({ oid: "1.2.3", der: ShortBytes.of(5, 0, 5, 0) }), "extensions.custom[0].der", /exactly one DER/],
  [custom({ oid: "1.2.3", der: new Uint8Array() }), "extensions.custom[0].der", /exactly one DER/],
  [
    extended({
      custom: [
        { oid: "1.2.3", der: NULL_DER },
        { oid: "1.2.3", der: NULL_DER },
      ],
    }),
    "extensions.custom[1].oid",
    /twice/,
  ],
];

const VALIDITY: readonly Refusal[] = [
  [{ subject: SUBJECT, notBefore: "2027-01-01" }, "notBefore", /date, time and zone/],
  [{ subject: SUBJECT, notBefore: "1949-12-31T23:59:59Z" }, "notBefore", /from 1950/],
  [
    { subject: SUBJECT, notBefore: "2027-01-02T00:00:00Z", notAfter: "2027-01-01T00:00:00Z" },
    "notAfter",
    /after notBefore/,
  ],
  [{ subject: SUBJECT, notAfter: "2099-01-01T00:00:00Z", validityDays: 1 }, "validityDays", /together/],
  [{ subject: SUBJECT, validityDays: 0 }, "validityDays", /1 to 36525/],
  [{ subject: SUBJECT, notBefore: "9999-12-31T00:00:00Z", validityDays: 30 }, "notAfter", /0 to 9999/],
  [{ subject: SUBJECT, serialNumber: "0" }, "serialNumber", /positive/],
  [{ subject: SUBJECT, serialNumber: "-1" }, "serialNumber", /positive/],
  [{ subject: SUBJECT, serialNumber: "" }, "serialNumber", /positive/],
  [{ subject: SUBJECT, serialNumber: "80".padEnd(40, "0") }, "serialNumber", /20 bytes/],
  [{ subject: SUBJECT, serialNumber: 7 }, "serialNumber", /got 7/],
  [{ subject: SUBJECT, serialNumber: ["07"] }, "serialNumber", /got an array/],
  [{ subject: [], subjectAltNames: [{ dns: "op.example" }] }, "subject", /not empty/],
  [{ subject: SUBJECT, ca: true }, "ca", /unknown option/],
];

describe.each([
  ["subject", SUBJECTS],
  ["subjectAltNames", NAMES],
  ["extensions", EXTENSIONS],
])("a request with a wrong %s", (_what, refusals) => {
  test.each(refusals.map((refusal, index) => [index, ...refusal] as const))(
    "is refused, and the error names it (%i)",
    async (_index, options, argument, words) => {
      const error: unknown = await createCsr(signer, options as never).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(ConfigurationError);
      expect(error).toMatchObject({ argument, message: expect.stringMatching(words) as string });
    },
  );
});

test.each(VALIDITY)("a certificate with %j is refused", async (options, argument, words) => {
  const error: unknown = await selfSigned(signer, options as never).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ConfigurationError);
  expect(error).toMatchObject({ argument, message: expect.stringMatching(words) as string });
});

test.each([
  [undefined, "signer", /got undefined/],
  [{}, "signer", /got an object/],
])("%j is no signer", async (value, argument, words) => {
  for (const make of [createCsr, selfSigned]) {
    const error: unknown = await make(value as never, { subject: SUBJECT }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ argument, message: expect.stringMatching(words) as string });
  }
});

test("options are strict, and a signal must be one", async () => {
  await expect(createCsr(signer, { subject: SUBJECT, subjectAltName: [] } as never)).rejects.toMatchObject({
    argument: "subjectAltName",
  });
  await expect(createCsr(signer, { subject: SUBJECT, signal: {} } as never)).rejects.toMatchObject({
    argument: "signal",
  });
});

test("no message repeats a text that the caller gave", async () => {
  const secret = "hunter2hunter2";
  for (const options of [
    { subject: [{ CN: `${secret}\0` }] },
    { subject: `CN=${secret}"` },
    name({ dns: `${secret}_` }),
    name({ uri: `https://user:${secret}@op.example` }),
    name({ email: secret }),
    extended({ keyUsage: [secret] }),
  ]) {
    const error = await createCsr(signer, options as never).catch((reason: unknown) => reason);
    expect(String(error)).not.toContain(secret);
  }
});
