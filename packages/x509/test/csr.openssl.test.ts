import { createPublicKey } from "node:crypto";
import { CertificationRequest, Extensions, type GeneralName } from "pkijs";
import { fromBER } from "asn1js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type GuardedSigner, guardSigner, type Signer, SignerError } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { createCsr, type CsrOptions, type EncodedCertificate } from "@signpost/x509";
import { asn1, openssl } from "./support/openssl.ts";

let signer: GuardedSigner;

beforeAll(async () => {
  signer = await openLocalSigner();
});

afterAll(() => signer.close());

const ALL_NAMES: CsrOptions = {
  subject: "CN=op.example,O=Example,C=DE",
  subjectAltNames: [
    { dns: "op.example" },
    { dns: "*.op.example" },
    { uri: "https://op.example/tenant" },
    { email: "ops@op.example" },
    { ip: "192.0.2.1" },
    { ip: "2001:db8::1" },
    { registeredId: "1.3.6.1.4.1.99999.1" },
  ],
};

function textOf({ pem }: EncodedCertificate): string {
  return openssl(pem, "req", "-verify", "-noout", "-text", "-nameopt", "RFC2253");
}

test("openssl verifies a request and reads its names, key and extensions", async () => {
  const request = await createCsr(signer, {
    ...ALL_NAMES,
    extensions: { extendedKeyUsage: ["clientAuth", "1.3.6.1.4.1.99999.2"] },
  });
  const text = textOf(request);
  expect(text).toContain("Version: 1 (0x0)");
  expect(text).toContain("Subject: CN=op.example,O=Example,C=DE\n");
  expect(text).toContain("Signature Algorithm: ecdsa-with-SHA256");
  expect(text).toMatch(/X509v3 Key Usage: critical\s+Digital Signature\n/);
  expect(text).toMatch(/X509v3 Extended Key Usage: \s+TLS Web Client Authentication, 1\.3\.6\.1\.4\.1\.99999\.2\n/);
  expect(text).toContain(
    "DNS:op.example, DNS:*.op.example, URI:https://op.example/tenant, email:ops@op.example, IP Address:192.0.2.1, " +
      "IP Address:2001:DB8:0:0:0:0:0:1, Registered ID:1.3.6.1.4.1.99999.1",
  );
  const key = createPublicKey(openssl(request.pem, "req", "-noout", "-pubkey")).export({ format: "jwk" });
  expect(key).toEqual(signer.publicKey);
});

test("PEM and DER are the same request, and openssl writes the same DER", async () => {
  const { pem, der } = await createCsr(signer, ALL_NAMES);
  expect(pem).toMatch(
    /^-----BEGIN CERTIFICATE REQUEST-----\n(?:[\w+/]{64}\n)*[\w+/=]{1,64}\n-----END CERTIFICATE REQUEST-----\n$/,
  );
  expect(openssl(pem, "req", "-outform", "PEM")).toBe(pem);
  expect(openssl(der, "req", "-inform", "DER", "-outform", "PEM")).toBe(pem);
});

test("another library verifies and reads it", async () => {
  const { der } = await createCsr(signer, ALL_NAMES);
  const request = CertificationRequest.fromBER(new Uint8Array(der).buffer);
  await expect(request.verify()).resolves.toBe(true);
  expect(request.subject.typesAndValues.map(({ type, value }) => [type, value.valueBlock.value])).toEqual([
    ["2.5.4.6", "DE"],
    ["2.5.4.10", "Example"],
    ["2.5.4.3", "op.example"],
  ]);
  const [attribute] = request.attributes ?? [];
  const { extensions } = new Extensions({ schema: attribute?.values[0] });
  expect(extensions.map(({ extnID, critical }) => [extnID, critical])).toEqual([
    ["2.5.29.15", true],
    ["2.5.29.17", false],
  ]);
  const names = extensions[1]?.parsedValue as unknown as { altNames: GeneralName[] };
  expect(names.altNames.map(({ type }) => type)).toEqual([2, 2, 6, 1, 7, 7, 8]);
});

test("the string types are those of RFC 5280", async () => {
  const { der } = await createCsr(signer, {
    subject: [
      { C: "DE" },
      { O: "Münchner Beispiel" },
      { OU: { text: "Ops", encoding: "printable" } },
      { serialNumber: "HRB 1" },
      { DC: "example" },
      { emailAddress: "ops@op.example" },
      { "1.3.6.1.4.1.99999.3": "text" },
      { organizationIdentifier: "NTRDE-HRB123456" },
    ],
  });
  const structure = asn1(der);
  const types = [...structure.matchAll(/OBJECT\s+:(\S+)\n.*prim:\s+(\w+STRING)/g)].map(([, ...each]) => each);
  expect(types.slice(0, 8)).toEqual([
    ["countryName", "PRINTABLESTRING"],
    ["organizationName", "UTF8STRING"],
    ["organizationalUnitName", "PRINTABLESTRING"],
    ["serialNumber", "PRINTABLESTRING"],
    ["domainComponent", "IA5STRING"],
    ["emailAddress", "IA5STRING"],
    ["1.3.6.1.4.1.99999.3", "UTF8STRING"],
    ["organizationIdentifier", "UTF8STRING"],
  ]);
});

test("a multi-valued name is one SET, sorted as DER requires", async () => {
  const { der } = await createCsr(signer, { subject: "CN=op+O=Example+OU=A,C=DE" });
  const [, first, second] = asn1(der).split("SET");
  expect(first).toContain("countryName");
  // By length first: the shortest encoding of the three is the OU.
  expect([...(second ?? "").matchAll(/OBJECT\s+:(\w+)/g)].map(([, name]) => name).slice(0, 3)).toEqual([
    "organizationalUnitName",
    "commonName",
    "organizationName",
  ]);
});

test("an empty subject makes the other names critical", async () => {
  const request = await createCsr(signer, { subject: [], subjectAltNames: [{ uri: "https://op.example" }] });
  const text = textOf(request);
  expect(text).toMatch(/Subject: *\n/);
  expect(text).toMatch(/X509v3 Subject Alternative Name: critical\n/);
});

test("extensions of an authority, custom ones, and criticality as asked", async () => {
  const request = await createCsr(signer, {
    subject: "CN=ca",
    extensions: {
      basicConstraints: { ca: true, pathLength: 0 },
      extendedKeyUsage: ["OCSPSigning"],
      critical: { extendedKeyUsage: true, keyUsage: false },
      custom: [{ oid: "1.3.6.1.4.1.99999.4", der: Uint8Array.of(0x05, 0x00), critical: true }],
    },
  });
  const text = textOf(request);
  expect(text).toMatch(/X509v3 Basic Constraints: critical\s+CA:TRUE, pathlen:0\n/);
  expect(text).toMatch(/X509v3 Key Usage: \s+Digital Signature, Certificate Sign, CRL Sign\n/);
  expect(text).toMatch(/X509v3 Extended Key Usage: critical\s+OCSP Signing\n/);
  expect(text).toMatch(/1\.3\.6\.1\.4\.1\.99999\.4: critical\s+\.\./);
});

test.each(["xn--mnchen-3ya.example", "XN--MNCHEN-3YA.example", "r3---sn-abc.example", "xn--p1ai", "1.2.3.4.example"])(
  "%s is a domain name",
  async (dns) => {
    const request = await createCsr(signer, { subject: [], subjectAltNames: [{ dns }] });
    expect(textOf(request)).toContain(`DNS:${dns}\n`);
  },
);

test("without key usage and names, there are no extensions", async () => {
  const request = await createCsr(signer, { subject: "CN=op", extensions: { keyUsage: false } });
  expect(textOf(request)).toMatch(/Attributes:\s+\(none\)/);
  // [0] with no contents, which is not optional.
  expect(asn1(request.der)).toMatch(/l= {3}0 cons: {3}cont \[ 0 \]/);
});

test("a wrong signature is not returned", async () => {
  const wrong: Signer = {
    uri: "test:wrong",
    publicKey: signer.publicKey,
    sign: async () => signer.sign(Buffer.alloc(32, 7)),
    close: async () => undefined,
  };
  await expect(createCsr(wrong, { subject: "CN=op" })).rejects.toMatchObject({ code: "bad_signature" });
});

test("it is signed through the guard, with its deadline and the caller's signal", async () => {
  const hanging: Signer = {
    uri: "test:hanging",
    publicKey: signer.publicKey,
    sign: (_digest, { signal } = {}) =>
      new Promise((_settle, reject) => {
        signal?.addEventListener("abort", () =>
          reject(new SignerError("aborted", "aborted", { cause: signal.reason })),
        );
      }),
    close: async () => undefined,
  };
  const guarded = guardSigner(hanging, { deadlineMs: 50, maxAttempts: 1 });
  await expect(createCsr(guarded, { subject: "CN=op" })).rejects.toMatchObject({ code: "timeout" });
  const controller = new AbortController();
  const made = createCsr(hanging, { subject: "CN=op", signal: controller.signal });
  controller.abort(new Error("the caller left"));
  await expect(made).rejects.toMatchObject({ code: "aborted" });
});

test("each signature is over this request: two requests differ, and both verify", async () => {
  const [one, two] = await Promise.all([
    createCsr(signer, { subject: "CN=one" }),
    createCsr(signer, { subject: "CN=two" }),
  ]);
  for (const { der, pem } of [one, two]) {
    openssl(pem, "req", "-verify", "-noout");
    expect(fromBER(new Uint8Array(der).buffer).offset).toBe(der.length);
  }
});

test("the key is read once, so the request has the key that its signature was verified with", async () => {
  await using other = await openLocalSigner();
  const keys = [other.publicKey];
  const changing = {
    uri: signer.uri,
    sign: signer.sign.bind(signer),
    close: () => Promise.resolve(),
    get publicKey() {
      return keys.pop() ?? signer.publicKey;
    },
  };
  const { pem } = await createCsr(changing, { subject: "CN=op" });
  const own = createPublicKey({ key: { ...signer.publicKey }, format: "jwk" }).export({ type: "spki", format: "pem" });
  expect(openssl(pem, "req", "-noout", "-pubkey")).toBe(own);
});
