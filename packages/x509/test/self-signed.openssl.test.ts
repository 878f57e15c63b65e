import { createHash, X509Certificate } from "node:crypto";
import { Certificate, CertificateChainValidationEngine } from "pkijs";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { GuardedSigner } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { readCertificates, selfSigned, type SelfSignedOptions } from "@signpost/x509";
import { asn1, openssl } from "./support/openssl.ts";

let signer: GuardedSigner;

beforeAll(async () => {
  signer = await openLocalSigner();
});

afterAll(() => signer.close());

async function make(
  options: Partial<SelfSignedOptions> = {},
): Promise<{ x509: X509Certificate; der: Uint8Array; pem: string }> {
  const made = await selfSigned(signer, { subject: "CN=op.example,O=Example", ...options });
  return { ...made, x509: new X509Certificate(made.der) };
}

test("node, openssl and pkijs read it and verify it", async () => {
  const { x509, der, pem } = await make({ subjectAltNames: [{ dns: "op.example" }, { uri: "https://op.example" }] });
  expect(x509.verify(x509.publicKey)).toBe(true);
  expect(x509.publicKey.export({ format: "jwk" })).toEqual(signer.publicKey);
  expect(x509.subject).toBe("O=Example\nCN=op.example");
  expect(x509.issuer).toBe(x509.subject);
  expect(x509.subjectAltName).toBe("DNS:op.example, URI:https://op.example");
  expect(x509.ca).toBe(false);
  expect(x509.checkHost("op.example")).toBe("op.example");
  expect(openssl(der, "x509", "-inform", "DER", "-outform", "PEM")).toBe(pem);
  const certificate = Certificate.fromBER(new Uint8Array(der).buffer);
  await expect(certificate.verify()).resolves.toBe(true);
  expect(certificate.version).toBe(2);
});

test("its serial number is 20 random bytes, positive", async () => {
  const serials = new Set<string>();
  for (let index = 0; index < 20; index += 1) {
    const { x509 } = await make();
    expect(x509.serialNumber).toMatch(/^[4-7][\dA-F]{39}$/);
    serials.add(x509.serialNumber);
  }
  expect(serials.size).toBe(20);
});

test.each([
  ["01", "01", "02 01 01"],
  ["00ff", "FF", "02 02 00 ff"],
  ["7f", "7F", "02 01 7f"],
  ["f".repeat(38), "F".repeat(38), undefined],
])("a serial number that was given: %s", async (serialNumber, shown, encoded) => {
  const { x509, der } = await make({ serialNumber });
  expect(x509.serialNumber).toBe(shown);
  if (encoded !== undefined) expect(Buffer.from(der).toString("hex")).toContain(encoded.replaceAll(" ", ""));
});

test.each([
  [
    "2049-12-31T23:59:59Z",
    "2050-01-01T00:00:00Z",
    "UTCTIME           :491231235959Z",
    "GENERALIZEDTIME   :20500101000000Z",
  ],
  [
    "1950-01-01T00:00:00Z",
    "1999-12-31T23:59:59Z",
    "UTCTIME           :500101000000Z",
    "UTCTIME           :991231235959Z",
  ],
  [
    "2000-02-29T12:00:00+02:00",
    "9999-12-31T23:59:59Z",
    "UTCTIME           :000229100000Z",
    "GENERALIZEDTIME   :99991231235959Z",
  ],
])("the times %s and %s are encoded as RFC 5280 says", async (notBefore, notAfter, first, second) => {
  const { der, x509 } = await make({ notBefore, notAfter });
  expect(asn1(der)).toContain(first);
  expect(asn1(der)).toContain(second);
  expect(Date.parse(x509.validFrom)).toBe(Date.parse(notBefore));
  expect(Date.parse(x509.validTo)).toBe(Date.parse(notAfter));
});

test("validity in days counts the last second", async () => {
  const { x509 } = await make({ notBefore: new Date("2027-01-01T00:00:00.900Z"), validityDays: 1 });
  expect(Date.parse(x509.validFrom)).toBe(Date.parse("2027-01-01T00:00:00Z"));
  expect(Date.parse(x509.validTo)).toBe(Date.parse("2027-01-01T23:59:59Z"));
  const { x509: defaults } = await make({ notBefore: "2027-01-01T00:00:00Z" });
  expect(Date.parse(defaults.validTo)).toBe(Date.parse("2027-12-31T23:59:59Z"));
});

test("the identifiers of the key are the same, and those of RFC 7093", async () => {
  const { der, pem } = await make();
  const { x, y } = signer.publicKey;
  const point = Buffer.concat([Uint8Array.of(4), Buffer.from(x, "base64url"), Buffer.from(y, "base64url")]);
  const digest = createHash("sha256").update(point).digest("hex").slice(0, 40);
  const text = openssl(pem, "x509", "-noout", "-ext", "subjectKeyIdentifier,authorityKeyIdentifier");
  const identifiers = [...text.matchAll(/^ +(?:keyid:)?([\dA-F:]+)$/gim)].map(([, hex = ""]) =>
    hex.replaceAll(":", "").toLowerCase(),
  );
  expect(identifiers).toEqual([digest, digest]);
  expect(readCertificates(pem)).toMatchObject([{ subjectKeyIdentifier: digest, authorityKeyIdentifier: digest }]);
  expect(der[0]).toBe(0x30);
});

test("openssl accepts one of an authority as a trust anchor, in its strict mode", async () => {
  const { pem } = await make({ extensions: { basicConstraints: { ca: true, pathLength: 1 } } });
  const { mkdtemp, rm, writeFile } = await import("node:fs/promises");
  const folder = await mkdtemp("/tmp/signpost-x509-");
  try {
    await writeFile(`${folder}/ca.pem`, pem);
    expect(
      openssl("", "verify", "-x509_strict", "-check_ss_sig", "-CAfile", `${folder}/ca.pem`, `${folder}/ca.pem`),
    ).toContain("OK");
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("pkijs builds the path to it", async () => {
  const { der } = await make({ extensions: { basicConstraints: { ca: true } } });
  const certificate = Certificate.fromBER(new Uint8Array(der).buffer);
  const engine = new CertificateChainValidationEngine({ trustedCerts: [certificate], certs: [certificate] });
  await expect(engine.verify()).resolves.toMatchObject({ result: true });
});
