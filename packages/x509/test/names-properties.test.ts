import { createPrivateKey, generateKeyPairSync, X509Certificate } from "node:crypto";
import { isIPv6 } from "node:net";
import fc from "fast-check";
import { CertificationRequest, Certificate } from "pkijs";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { GuardedSigner } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { createCsr, readCertificates, selfSigned, type SubjectAltName } from "@signpost/x509";

let signer: GuardedSigner;

beforeAll(async () => {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  signer = await openLocalSigner({ privateKey: createPrivateKey(privateKey.export({ type: "pkcs8", format: "pem" })) });
});

afterAll(() => signer.close());

const text = (most: number): fc.Arbitrary<string> =>
  fc
    .string({ unit: "grapheme", minLength: 1, maxLength: 12 })
    .filter((each) => !/\p{Cc}/u.test(each) && each.isWellFormed() && [...each].length <= most);

/** What RFC 4514 escapes, and what only looks like a space. */
const tricky = fc
  .array(fc.constantFrom(" ", "\\", "#", ",", "+", '"', ";", "<", ">", "=", "a", "\u00a0", "\u3000"), {
    minLength: 1,
    maxLength: 6,
  })
  .map((parts) => parts.join(""));

const attribute = fc.oneof(
  fc.tuple(fc.constantFrom("CN", "O", "OU"), tricky),
  fc.tuple(fc.constantFrom("CN", "O", "OU", "L", "ST", "STREET", "title", "GN", "pseudonym"), text(64)),
  fc.tuple(fc.constant("C"), fc.stringMatching(/^[A-Z]{2}$/)),
  fc.tuple(fc.constant("DC"), fc.stringMatching(/^[a-z\d]{1,20}$/)),
  fc.tuple(fc.constant("serialNumber"), fc.stringMatching(/^[A-Za-z\d '()+,\-./:=?]{1,20}$/)),
);

const subject = fc.array(
  fc
    .uniqueArray(attribute, { minLength: 1, maxLength: 3, selector: ([name]) => name })
    .map((each) => Object.fromEntries(each)),
  { minLength: 1, maxLength: 5 },
);

test("a subject that is read as a string of RFC 4514, and given back, is the same subject", async () => {
  await fc.assert(
    fc.asyncProperty(subject, async (given) => {
      const made = await selfSigned(signer, { subject: given });
      const [info] = readCertificates(made.der);
      const again = await selfSigned(signer, { subject: info?.subject ?? "" });
      const subjectOf = (der: Uint8Array): string =>
        Buffer.from(Certificate.fromBER(new Uint8Array(der).buffer).subject.valueBeforeDecode).toString("hex");
      expect(subjectOf(again.der)).toBe(subjectOf(made.der));
    }),
    { numRuns: 60 },
  );
});

test("each attribute is read back by another library", async () => {
  await fc.assert(
    fc.asyncProperty(subject, async (given) => {
      const { der } = await createCsr(signer, { subject: given });
      const request = CertificationRequest.fromBER(new Uint8Array(der).buffer);
      const values = request.subject.typesAndValues.map(({ value }) => value.valueBlock.value);
      expect(values.toSorted()).toEqual(given.flatMap((each) => Object.values(each)).toSorted());
    }),
    { numRuns: 50 },
  );
});

const label = fc.stringMatching(/^[a-z\d](?:[a-z\d]{0,8}[a-z])?$/);
const domain = fc.array(label, { minLength: 1, maxLength: 3 }).map((labels) => [...labels, "example"].join("."));

const altName: fc.Arbitrary<SubjectAltName> = fc.oneof(
  domain.map((dns) => ({ dns })),
  domain.map((each) => ({ dns: `*.${each}` })),
  fc
    .webUrl({ withQueryParameters: true })
    .filter((uri) => /^[\0-\x7f]+$/.test(uri))
    .map((uri) => ({ uri })),
  fc.ipV4().map((ip) => ({ ip })),
  fc
    .ipV6()
    .filter(isIPv6)
    .map((ip) => ({ ip })),
  fc.tuple(fc.stringMatching(/^[a-z]{1,8}$/), domain).map(([local, host]) => ({ email: `${local}@${host}` })),
  fc.array(fc.nat(), { minLength: 1, maxLength: 6 }).map((arcs) => ({ registeredId: ["1.3", ...arcs].join(".") })),
);

test("names come back as they were given, and OpenSSL counts as many", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(altName, { minLength: 1, maxLength: 6, selector: (each) => keyOf(each) }),
      async (subjectAltNames) => {
        const { der } = await selfSigned(signer, { subject: "CN=op", subjectAltNames });
        const [info] = readCertificates(der);
        expect(info?.subjectAltNames.map((each) => keyOf(each as SubjectAltName))).toEqual(subjectAltNames.map(keyOf));
        const extensions = Certificate.fromBER(new Uint8Array(der).buffer).extensions ?? [];
        const parsed: unknown = extensions.find(({ extnID }) => extnID === "2.5.29.17")?.parsedValue;
        expect(Object(parsed)).toHaveProperty("altNames.length", subjectAltNames.length);
        expect(new X509Certificate(der).subjectAltName).toBeTypeOf("string");
      },
    ),
    { numRuns: 60 },
  );
});

/** Addresses in one form. */
function keyOf(name: SubjectAltName): string {
  if (!("ip" in name)) return JSON.stringify(name).toLowerCase();
  return new URL(`http://${name.ip.includes(":") ? `[${name.ip}]` : name.ip}`).hostname;
}
