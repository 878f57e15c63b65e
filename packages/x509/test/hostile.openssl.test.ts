import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ConfigurationError, type GuardedSigner } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { createCsr, inspectChain, readCertificates, selfSigned, type CertificateInfo } from "@signpost/x509";
import { openssl } from "./support/openssl.ts";

let signer: GuardedSigner;
let good: Uint8Array;

beforeAll(async () => {
  signer = await openLocalSigner();
  const made = await selfSigned(signer, {
    subject: "CN=op.example,O=Example,C=DE",
    subjectAltNames: [{ dns: "op.example" }, { ip: "192.0.2.1" }, { uri: "https://op.example" }],
    extensions: { extendedKeyUsage: ["clientAuth"], basicConstraints: { ca: true, pathLength: 2 } },
  });
  good = made.der;
});

afterAll(() => signer.close());

/** What is read, or undefined if it was refused as it should be. */
function read(value: Uint8Array | string): readonly CertificateInfo[] | undefined {
  try {
    return readCertificates(value);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigurationError);
    return undefined;
  }
}

test("bytes that are no certificate are refused", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
      expect(read(bytes)).toBeUndefined();
    }),
    { numRuns: 500 },
  );
});

test("a certificate with a changed byte is refused, or its chain is inspected without an error", () => {
  fc.assert(
    fc.property(fc.nat(good.length - 1), fc.integer({ min: 1, max: 255 }), (index, mask) => {
      const changed = Uint8Array.from(good, (byte, at) => (at === index ? byte ^ mask : byte));
      const certificates = read(changed);
      if (certificates === undefined) return;
      const { endsWithRoot } = inspectChain(certificates);
      // No byte that is signed can change, nor the signature itself.
      expect(endsWithRoot).toBe(false);
    }),
    { numRuns: 250 },
  );
});

test("a certificate that is cut off, or goes on, is refused", () => {
  for (let length = 0; length < good.length; length += 7) expect(read(good.subarray(0, length))).toBeUndefined();
  expect(read(Buffer.concat([good, good]))).toBeUndefined();
});

test("long texts without an end are refused in no time", () => {
  const begin = "-----BEGIN CERTIFICATE-----";
  expect(read(begin.repeat(40_000))).toBeUndefined();
  expect(read(`${begin}${"A".repeat(2_000_000)}`)).toBeUndefined();
});

test("long names that almost fit are refused in no time", async () => {
  for (const subject of [
    `CN=${" ".repeat(8000)}"`,
    `CN=${"\\ ".repeat(4000)}"`,
    `${"CN=a, ".repeat(1300)}"`,
    `CN=${"\\".repeat(8001)}`,
    "a".repeat(8000),
  ]) {
    await expect(createCsr(signer, { subject })).rejects.toBeInstanceOf(ConfigurationError);
  }
  const uri = `https://${"a".repeat(100_000)}.example/${"%41".repeat(100_000)}`;
  await expect(createCsr(signer, { subject: "CN=op", subjectAltNames: [{ uri }] })).rejects.toMatchObject({
    argument: "subjectAltNames[0].uri",
  });
  for (const rest of ["/\x01", "/[", "?\x01"]) {
    await expect(
      createCsr(signer, { subject: "", subjectAltNames: [{ uri: `https://${"a".repeat(200_000)}${rest}` }] }),
    ).rejects.toMatchObject({ argument: "subjectAltNames[0].uri" });
  }
  const email = `${"a.".repeat(100_000)}@op.example`;
  await expect(createCsr(signer, { subject: "CN=op", subjectAltNames: [{ email }] })).rejects.toMatchObject({
    argument: "subjectAltNames[0].email",
  });
});

test("an extension that is there twice is refused", async () => {
  // Reading verifies no signature, so the structure can be changed.
  const made = await selfSigned(signer, {
    subject: "CN=op",
    extensions: {
      custom: [
        { oid: "1.2.3.4", der: Uint8Array.of(5, 0) },
        { oid: "1.2.3.5", der: Uint8Array.of(5, 0) },
      ],
    },
  });
  const twice = Buffer.from(made.der);
  const second = twice.indexOf(Buffer.from("06032a0305", "hex"));
  twice.set(Buffer.from("06032a0304", "hex"), second);
  expect(() => readCertificates(twice)).toThrow("expected an X.509 certificate");
});

test("a request with as many names as possible is one that openssl reads", async () => {
  const subjectAltNames = Array.from({ length: 1000 }, (_, index) => ({ dns: `n${index}.op.example` }));
  const { pem } = await createCsr(signer, { subject: [], subjectAltNames });
  expect(openssl(pem, "req", "-verify", "-noout", "-text")).toContain("DNS:n999.op.example");
});
