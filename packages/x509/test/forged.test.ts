import { X509Certificate } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ConfigurationError, type GuardedSigner } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { inspectChain, readCertificates, selfSigned, type SelfSignedOptions } from "@signpost/x509";

let signer: GuardedSigner;

beforeAll(async () => {
  signer = await openLocalSigner();
});

afterAll(() => signer.close());

async function made(options: Partial<SelfSignedOptions>): Promise<Buffer> {
  const { der } = await selfSigned(signer, { subject: "CN=op", ...options });
  return Buffer.from(der);
}

/** Reading verifies no signature, so what is signed can be changed. */
function changed(der: Buffer, from: string, to: string): Buffer {
  expect(to).toHaveLength(from.length);
  const at = der.indexOf(from);
  expect(at).toBeGreaterThan(0);
  return Buffer.concat([der.subarray(0, at), Buffer.from(to), der.subarray(at + from.length)]);
}

test("a certificate that has another one as PEM in a text is not taken for the other one", async () => {
  const { pem } = await selfSigned(signer, { subject: "CN=op" });
  const text = Buffer.from(`\n${pem}`);
  const value = Buffer.concat([Uint8Array.of(0x0c, 0x82, text.length >> 8, text.length & 0xff), text]);
  await using forger = await openLocalSigner();
  const { der } = await selfSigned(forger, {
    subject: "CN=op",
    extensions: { custom: [{ oid: "1.3.6.1.4.1.99999.1", der: value }] },
  });
  // That is what OpenSSL sees.
  expect(new X509Certificate(der).toString()).toBe(pem);
  expect(() => readCertificates(der)).toThrow("expected an X.509 certificate");
  const [genuine] = readCertificates(pem);
  if (genuine === undefined) throw new Error("expected a certificate");
  expect(() => inspectChain([{ ...genuine, der }], { trustAnchors: [genuine] })).toThrow(ConfigurationError);
});

test.each([
  ["261129120000Z", "269929120000Z"],
  ["261129120000Z", "260230120000Z"],
  ["261129120000Z", "2611291200+01"],
  ["261129120000Z", "             "],
  ["\x18\x0f20600101000000Z", "\x17\x0f600101000000Z  "],
  ["20600101000000Z", "20600230000000Z"],
  ["20600101000000Z", "20600101000000 "],
  ["20600101000000Z", "206001010000.0Z"],
  ["20600101000000Z", "2060010100+0100"],
])("the time %s as %s is refused, and not given a meaning", async (from, to) => {
  const der = await made({ notBefore: "2026-11-29T12:00:00Z", notAfter: "2060-01-01T00:00:00Z" });
  expect(() => readCertificates(changed(der, from, to))).toThrow("expected an X.509 certificate");
});

test("the first and the last time of each form are read", async () => {
  for (const [notBefore, notAfter] of [
    ["1950-01-01T00:00:00.000Z", "2049-12-31T23:59:59.000Z"],
    ["2050-01-01T00:00:00.000Z", "9999-12-31T23:59:59.000Z"],
  ] as const) {
    const [info] = readCertificates(await made({ notBefore, notAfter }));
    expect([info?.notBefore.toISOString(), info?.notAfter.toISOString()]).toEqual([notBefore, notAfter]);
  }
});

test("object identifiers with large numbers, such as those of UUIDs, come back as they were given", async () => {
  for (const oid of ["2.25.329800735698586629295641978511506172918", "1.3.6.1.4.1.9007199254740993"]) {
    const der = await made({
      subject: `${oid}=x,CN=op`,
      subjectAltNames: [{ registeredId: oid }],
      extensions: { extendedKeyUsage: [oid], custom: [{ oid, der: Uint8Array.of(5, 0), critical: true }] },
    });
    expect(readCertificates(der)[0]).toMatchObject({
      subject: `${oid}=#0c0178,CN=op`,
      subjectAltNames: [{ registeredId: oid }],
      extendedKeyUsage: [oid],
      otherCriticalExtensions: [oid],
    });
  }
});

test("PEM that was cut off is not a shorter chain", async () => {
  const { pem } = await selfSigned(signer, { subject: "CN=op" });
  for (const cut of [pem.slice(0, 200), pem.slice(0, -20), pem.replace("\n", "\n-")]) {
    expect(() => readCertificates(pem + cut)).toThrow("has no end");
    expect(() => readCertificates(cut + pem)).toThrow("has no end");
  }
});
