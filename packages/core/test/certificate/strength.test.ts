import { createPublicKey, generateKeyPairSync, type X509Certificate } from "node:crypto";
import { describe, expect, test } from "vitest";
import { isStrongSignature } from "../../src/certificate/signature-algorithm.ts";
import { issuerKeyFault, publicKeyOf, signatureFault } from "../../src/certificate/strength.ts";

const der = (tag: number, ...contents: Uint8Array[]): Buffer => {
  const whole = Buffer.concat(contents);
  return Buffer.concat([Buffer.of(tag, whole.length), whole]);
};
const sequence = (...contents: Uint8Array[]): Buffer => der(0x30, ...contents);
const NULL = Buffer.of(5, 0);

/** An OBJECT IDENTIFIER (X.690 section 8.19). */
function oid(text: string): Buffer {
  const [first = 0, second = 0, ...others] = text.split(".").map(Number);
  const base128 = (value: number): number[] =>
    value < 0x80 ? [value] : [...base128(Math.floor(value / 0x80)).map((byte) => byte | 0x80), value % 0x80];
  return der(6, Buffer.from([first * 40 + second, ...others].flatMap(base128)));
}

const RSA = "1.2.840.113549.1.1";
const ECDSA = "1.2.840.10045.4";
const SHA_2 = "2.16.840.1.101.3.4.2";
const SHA_1 = "1.3.14.3.2.26";
const PSS = oid(`${RSA}.10`);
/** The hash of RSASSA-PSS, or another member of its parameters. */
const hash = (id: string, tag = 0xa0): Buffer => der(tag, sequence(oid(id), NULL));

describe("a signature is strong", () => {
  test.each([
    ["RSA with SHA-256", `${RSA}.11`],
    ["RSA with SHA-384", `${RSA}.12`],
    ["RSA with SHA-512", `${RSA}.13`],
    ["ECDSA with SHA-256", `${ECDSA}.3.2`],
    ["ECDSA with SHA-384", `${ECDSA}.3.3`],
    ["ECDSA with SHA-512", `${ECDSA}.3.4`],
    ["Ed25519", "1.3.101.112"],
    ["Ed448", "1.3.101.113"],
  ])("that is %s", (_name, id) => {
    expect(isStrongSignature(sequence(oid(id)))).toBe(true);
    expect(isStrongSignature(sequence(oid(id), NULL))).toBe(true);
  });

  test.each([
    ["SHA-256", `${SHA_2}.1`],
    ["SHA-384", `${SHA_2}.2`],
    ["SHA-512", `${SHA_2}.3`],
  ])("that is RSASSA-PSS with %s", (_name, id) => {
    expect(isStrongSignature(sequence(PSS, sequence(hash(id))))).toBe(true);
    expect(isStrongSignature(sequence(PSS, sequence(hash(id), hash(SHA_1, 0xa1))))).toBe(true);
  });
});

describe("a signature is weak", () => {
  test.each([
    ["RSA with MD5", sequence(oid(`${RSA}.4`), NULL)],
    ["RSA with SHA-1", sequence(oid(`${RSA}.5`), NULL)],
    ["RSA with SHA-224", sequence(oid(`${RSA}.14`), NULL)],
    ["ECDSA with SHA-1", sequence(oid(`${ECDSA}.1`))],
    ["ECDSA with SHA-224", sequence(oid(`${ECDSA}.3.1`))],
    ["X25519, which signs nothing", sequence(oid("1.3.101.110"))],
    ["RSASSA-PSS with SHA-1", sequence(PSS, sequence(hash(SHA_1)))],
    ["RSASSA-PSS with SHA-224", sequence(PSS, sequence(hash(`${SHA_2}.4`)))],
    ["RSASSA-PSS without parameters, where SHA-1 is meant", sequence(PSS)],
    ["RSASSA-PSS with empty parameters, where SHA-1 is meant", sequence(PSS, sequence())],
    ["RSASSA-PSS with SHA-256 for its mask alone", sequence(PSS, sequence(hash(`${SHA_2}.1`, 0xa1)))],
    ["RSASSA-PSS whose hash is no sequence", sequence(PSS, sequence(der(0xa0, oid(`${SHA_2}.1`))))],
    ["RSASSA-PSS whose hash is empty", sequence(PSS, sequence(der(0xa0)))],
    ["RSASSA-PSS whose parameters are cut", sequence(PSS, der(0x30, Buffer.of(0xa0, 9)))],
    ["of no algorithm", sequence()],
    ["of an algorithm that is no identifier", sequence(NULL, oid("1.3.101.112"))],
    ["no sequence", oid("1.3.101.112")],
    ["nothing", Buffer.alloc(0)],
  ])("that is %s", (_name, algorithm) => {
    expect(isStrongSignature(algorithm)).toBe(false);
  });
});

test("a weak signature is a fault, and the message says what is expected", () => {
  expect(signatureFault({ signatureAlgorithm: sequence(oid("1.3.101.112")) })).toBeUndefined();
  expect(signatureFault({ signatureAlgorithm: sequence(oid(`${RSA}.5`)) })).toBe(
    "expected a signature with SHA-256, SHA-384, SHA-512 or EdDSA",
  );
});

describe("the key of an issuer", () => {
  const withKey = (publicKey: unknown) => ({ x509: { publicKey } as X509Certificate });
  const rsa = (modulusLength: number) => withKey({ asymmetricKeyDetails: { modulusLength } });
  const unreadable = {
    x509: {
      get publicKey(): never {
        throw new Error("unsupported");
      },
    } as unknown as X509Certificate,
  };

  test.each([2048, 2049, 4096])("may be an RSA key of %d bits", (bits) => {
    expect(issuerKeyFault(rsa(bits))).toBeUndefined();
  });

  test.each([512, 1024, 2047])("may not be an RSA key of %d bits", (bits) => {
    expect(issuerKeyFault(rsa(bits))).toBe(`expected an RSA key of at least 2048 bits, got ${bits}`);
  });

  test("may be of another type, or one that OpenSSL cannot read", () => {
    const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    expect(publicKeyOf(withKey(publicKey))).toBe(publicKey);
    expect(issuerKeyFault(withKey(createPublicKey(publicKey.export({ type: "spki", format: "pem" }))))).toBeUndefined();
    expect(issuerKeyFault(withKey({}))).toBeUndefined();
    expect([publicKeyOf(unreadable), issuerKeyFault(unreadable)]).toEqual([undefined, undefined]);
  });
});
