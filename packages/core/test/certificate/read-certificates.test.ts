import { X509Certificate } from "node:crypto";
import { importJWK, importX509, type JWK } from "jose";
import { describe, expect, test } from "vitest";
import {
  ConfigurationError,
  createKeySet,
  type EntryCertificates,
  type KeyCertificates,
  type P256PublicJwk,
  serializeJwks,
} from "@signpost/core";
import { certificateFault, readCertificates } from "@signpost/core/adapter";
import {
  bundleOf,
  der,
  intermediate,
  issue,
  type Issued,
  KEY_USAGE,
  leaf,
  newP256,
  newP384,
  newRsa,
  pemOf,
  root,
  sequence,
  soundChain,
} from "../support/certificates.ts";
import { GOLDEN_JWK, newP256Jwk, parseBody, publishingSigner, thrownBy } from "../support/key-fixtures.ts";

/** The key of RFC 7515 appendix A.3, self-signed for the year 2026. The values below were computed with openssl and sha256sum. */
const GOLDEN_CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBFjCBvaADAgECAgEBMAoGCCqGSM49BAMCMBUxEzARBgNVBAMMCm9wLmV4YW1w
bGUwHhcNMjYwMTAxMDAwMDAwWhcNMjcwMTAxMDAwMDAwWjAVMRMwEQYDVQQDDApv
cC5leGFtcGxlMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf83OJ3D2xF1Bg8vu
b9tLe1gHMzV76e8Tus9uPHvRVEXH8UTNG72bfocs3+257rn0s2ldbqkLJK2KRiMo
hYjlrTAKBggqhkjOPQQDAgNIADBFAiAvweVJdUkw8SbMU0W17ce22wjdMaUK0PSH
QdyiioHWBAIhAJTZYm1xnX77vF4TPVHplKBO8DCxML1niNpIgtkvw1V9
-----END CERTIFICATE-----
`;
const GOLDEN_THUMBPRINT = "1nxNTkqzw_RBl4JykJJFjP1xxFwwp1brBr8h3QUQHQE";
const GOLDEN_CERTIFICATE_ETAG = '"42565a6bc1659cdd0c87045a10c7562a24303c19dcaf21ac01df725b521eafb6"';

const SOUND = soundChain();
const { jwk } = SOUND.leaf;

function read(certificates: unknown, publicKey: P256PublicJwk = jwk): KeyCertificates {
  return readCertificates("entries[0].certificates", certificates, { keyId: "sig-1", publicKey });
}

/** What is refused: the argument and the message. */
function refusalOf(certificates: unknown, publicKey?: P256PublicJwk): { argument: string; message: string } {
  const error = thrownBy(() => read(certificates, publicKey));
  expect(error).toBeInstanceOf(ConfigurationError);
  const { argument, message } = error as ConfigurationError;
  return { argument, message };
}

describe("a chain", () => {
  const expected = [SOUND.leaf.base64, SOUND.middle.base64];

  test.each<[string, EntryCertificates["chain"]]>([
    ["PEM", bundleOf(SOUND.leaf, SOUND.middle)],
    ["PEM with CRLF and blank lines", `\n${bundleOf(SOUND.leaf, SOUND.middle).replaceAll("\n", "\r\n")}\r\n`],
    [
      "PEM in one long line",
      [SOUND.leaf, SOUND.middle]
        .map((one) => `-----BEGIN CERTIFICATE-----\n${one.base64}\n-----END CERTIFICATE-----`)
        .join("\n"),
    ],
    ["a list of DER", [SOUND.leaf.der, SOUND.middle.der]],
    ["a list of base64", expected],
    ["a list of PEM", [SOUND.leaf.pem, SOUND.middle.pem]],
    ["a mixed list", [SOUND.leaf.der, bundleOf(SOUND.middle, SOUND.root)]],
    ["with the root, which is left out", bundleOf(SOUND.leaf, SOUND.middle, SOUND.root)],
  ])("as %s", (_, chain) => {
    expect(read({ chain }).x5c).toEqual(expected);
    expect(read({ chain, trustAnchors: SOUND.root.pem }).x5c).toEqual(expected);
  });

  test("ends before the trust anchor, also if that is not a root", () => {
    const chain = bundleOf(SOUND.leaf, SOUND.middle, SOUND.root);
    expect(read({ chain, trustAnchors: [SOUND.middle.der] }).x5c).toEqual([SOUND.leaf.base64]);
  });

  describe("counts the issuers between an issuer and the key for its pathLenConstraint", () => {
    const chainOf = (top: Issued, middle: Issued = intermediate(top, { pathLength: 0 })) => ({
      own: leaf(middle),
      middle,
      top,
    });
    const readChain = ({ own, middle, top }: ReturnType<typeof chainOf>, withRoot: boolean) =>
      withRoot
        ? read({ chain: bundleOf(own, middle, top) }, own.jwk)
        : read({ chain: bundleOf(own, middle), trustAnchors: top.pem }, own.jwk);

    test.each([
      ["in the chain", true, "entries[0].certificates.chain", "certificate 3 of 3"],
      ["that is the trust anchor", false, "entries[0].certificates.trustAnchors", "trust"],
    ])("of a root %s", (_where, withRoot, argument, subject) => {
      const chain = chainOf(root({ pathLength: 1 }));
      expect(readChain(chain, withRoot).x5c).toEqual([chain.own.base64, chain.middle.base64]);
      const error = thrownBy(() => readChain(chainOf(root({ pathLength: 0 })), withRoot));
      expect(error).toMatchObject({
        argument,
        message: expect.stringContaining("its pathLenConstraint 0 allows fewer issuers before it than the 1 there are"),
      });
      expect(String(error)).toContain(subject);
    });

    test("and not one with its own name as issuer (RFC 5280 section 6.1.4)", () => {
      const top = root({ pathLength: 0 });
      const chain = chainOf(top, intermediate(top, { name: top.plan.name }));
      for (const withRoot of [true, false]) {
        expect(readChain(chain, withRoot).x5c).toEqual([chain.own.base64, chain.middle.base64]);
      }
    });
  });

  test("is judged by the newest certificate of a root that was renewed", () => {
    const old = root({ until: -1, from: -100 });
    const middle = intermediate(old);
    const own = leaf(middle);
    const renewed = root({ key: old.plan.key });
    for (const trustAnchors of [bundleOf(old, renewed), bundleOf(renewed, old)]) {
      const certificates = read({ chain: bundleOf(own, middle), trustAnchors }, own.jwk);
      expect(certificateFault(certificates, Date.now())).toBeUndefined();
    }
  });

  test("is judged by the certificate of a root that is valid, also if the next one is not yet", () => {
    const top = root({ until: 5 });
    const next = root({ ...top.plan, from: 4, until: 700 });
    const own = leaf(top);
    for (const anchors of [bundleOf(top, next), bundleOf(next, top)]) {
      const certificates = read({ chain: own.pem, trustAnchors: anchors }, own.jwk);
      for (const days of [0, 4.5, 300]) {
        expect(certificateFault(certificates, Date.now() + days * 86_400_000)).toBeUndefined();
      }
      expect(certificateFault(certificates, Date.now() - 2 * 86_400_000)).toBeDefined();
    }
  });

  test("of one self-signed certificate is published", () => {
    const self = leaf(undefined);
    expect(read({ chain: self.pem }, self.jwk).x5c).toEqual([self.base64]);
    expect(read({ chain: self.pem, trustAnchors: self.pem }, self.jwk).x5c).toEqual([self.base64]);
  });

  test("has the thumbprint that OpenSSL computes", () => {
    const fingerprint = new X509Certificate(SOUND.leaf.pem).fingerprint256.replaceAll(":", "");
    expect(read({ chain: SOUND.leaf.pem })["x5t#S256"]).toBe(Buffer.from(fingerprint, "hex").toString("base64url"));
  });

  test("says how long each certificate is valid", () => {
    const { validity } = read({ chain: [SOUND.leaf.der], trustAnchors: [SOUND.middle.der] });
    const { validFrom, validTo } = new X509Certificate(SOUND.leaf.pem);
    expect(validity.map(({ name }) => name)).toEqual(["certificate 1 of 1", "the trust anchor"]);
    expect(validity[0]).toMatchObject({ notBefore: Date.parse(validFrom), notAfter: Date.parse(validTo) });
  });

  test("does not change with the caller's bytes", () => {
    const bytes = Buffer.from(SOUND.leaf.der);
    const { x5c } = read({ chain: [bytes] });
    bytes.fill(0);
    expect(x5c).toEqual([SOUND.leaf.base64]);
  });

  test("cannot be changed by the caller, for this key or another one", () => {
    const certificates = read({ chain: SOUND.leaf.pem });
    for (const list of [certificates.x5c, certificates.publish, certificates.validity, certificates.validity[0]]) {
      expect(Object.isFrozen(list)).toBe(true);
    }
    expect(Object.isFrozen(read({ chain: SOUND.leaf.pem, publish: ["x5c"] }).publish)).toBe(true);
  });

  test("of a seal, which has nonRepudiation alone, is accepted", () => {
    const seal = leaf(SOUND.middle, { keyUsage: KEY_USAGE.nonRepudiation });
    expect(read({ chain: seal.pem }, seal.jwk).x5c).toHaveLength(1);
  });
});

describe("a chain that is refused", () => {
  const foreign = leaf(SOUND.middle);
  const other = intermediate(root({ name: "Other root" }), { name: "Other" });
  const forged = leaf(SOUND.middle, { signedBy: newP256() });
  const agreement = leaf(SOUND.middle, { keyUsage: KEY_USAGE.keyAgreement });
  const rsa = leaf(SOUND.middle, { key: newRsa() });
  const p384 = leaf(SOUND.middle, { key: newP384() });
  const self = leaf(undefined);
  const nothing = `entries[0].certificates.chain: kid "sig-1": `;

  test.each<[string, unknown, string, P256PublicJwk?]>([
    [
      "of another key",
      { chain: foreign.pem },
      'kid "sig-1", certificate 1 of 1: expected the certificate of the key of this entry',
    ],
    ["of an RSA key", { chain: rsa.pem }, "expected the certificate of the key of this entry"],
    ["of a P-384 key", { chain: p384.pem }, "expected the certificate of the key of this entry"],
    [
      "that begins with the issuer",
      { chain: bundleOf(SOUND.middle, SOUND.leaf) },
      "certificate 1 of 2: expected the certificate of the key of this entry, and it has another key; certificate 2 has it",
    ],
    [
      "that leaves an issuer out",
      { chain: bundleOf(SOUND.leaf, SOUND.root) },
      "certificate 2 of 2: expected the issuer of the certificate before it",
    ],
    [
      "in the wrong order",
      { chain: bundleOf(SOUND.leaf, SOUND.root, SOUND.middle) },
      "certificate 2 of 3: expected the issuer",
    ],
    [
      "with a certificate twice",
      { chain: bundleOf(SOUND.leaf, SOUND.middle, SOUND.middle) },
      "certificate 3 of 3: expected the issuer",
    ],
    [
      "with a root twice",
      { chain: bundleOf(SOUND.leaf, SOUND.middle, SOUND.root, SOUND.root) },
      "certificate 3 of 4: a self-signed certificate must be the last",
    ],
    [
      "with a foreign issuer at the end",
      { chain: bundleOf(SOUND.leaf, SOUND.middle, other) },
      "certificate 3 of 3: expected the issuer",
    ],
    [
      "with a signature of another key",
      { chain: bundleOf(forged, SOUND.middle) },
      "certificate 1 of 2: its signature",
      forged.jwk,
    ],
    ["whose key may not sign", { chain: agreement.pem }, "its keyUsage must have digitalSignature", agreement.jwk],
    [
      "with a self-signed certificate before others",
      { chain: bundleOf(self, SOUND.root) },
      "a self-signed certificate must be the last",
      self.jwk,
    ],
    [
      "below another trust anchor",
      { chain: bundleOf(SOUND.leaf, SOUND.middle), trustAnchors: other.pem },
      "certificate 2 of 2: expected the chain to end at a certificate that one of the trustAnchors issued",
    ],
    [
      "that is self-signed and no trust anchor",
      { chain: self.pem, trustAnchors: other.pem },
      "one of the trustAnchors",
      self.jwk,
    ],
    ["that is empty", { chain: "" }, `${nothing}expected PEM blocks`],
    ["that is an empty list", { chain: [] }, "or a list of 1 to 8, each as DER, base64 or PEM, got a list of 0"],
    ["that is a list of nine", { chain: Array(9).fill(SOUND.leaf.pem) }, "got a list of 9"],
    ["that is missing", {}, "got undefined"],
    ["that is a Buffer", { chain: Buffer.from(SOUND.leaf.pem) }, "got an object"],
    ["with a number in its list", { chain: [7] }, "expected a certificate as DER, base64 or PEM, got 7"],
    ["in base64url", { chain: [SOUND.leaf.der.toString("base64url")] }, "not base64url"],
    ["with text around it", { chain: `subject=CN=op\n${SOUND.leaf.pem}` }, "with nothing else between and around them"],
    [
      "with bytes after the DER",
      { chain: [Buffer.concat([SOUND.leaf.der, Buffer.of(0)])] },
      "expected an X.509 certificate in DER",
    ],
    [
      "that is PEM where DER should be",
      { chain: [Buffer.from(SOUND.leaf.pem)] },
      "certificate 1 of 1: expected an X.509 certificate in DER",
    ],
    ["of nine certificates", { chain: SOUND.leaf.pem.repeat(9) }, "expected 1 to 8 certificates, got 9"],
    ["that is too long", { chain: "x".repeat(20_000) }, "expected at most 18432 characters"],
    [
      "with a certificate request",
      { chain: pemOf(Buffer.alloc(40), "CERTIFICATE REQUEST") },
      "got a certificate request",
    ],
    ["with a revocation list", { chain: pemOf(Buffer.alloc(40), "X509 CRL") }, "got a revocation list"],
    ["with a public key", { chain: pemOf(Buffer.alloc(40), "PUBLIC KEY") }, "got a public key"],
    ["with an unknown option", { chain: SOUND.leaf.pem, trustAnchor: "" }, "did you mean trustAnchors?"],
    [
      "with an unknown member to publish",
      { chain: SOUND.leaf.pem, publish: ["x5t"] },
      'expected a list of "x5c" and "x5t#S256"',
    ],
    ["with a member to publish twice", { chain: SOUND.leaf.pem, publish: ["x5c", "x5c"] }, "each at most once"],
    ["that is no object", "chain", "expected an object"],
  ])("%s", (_, certificates, message, publicKey) => {
    expect(refusalOf(certificates, publicKey).message).toContain(message);
  });

  test.each(["PRIVATE KEY", "EC PRIVATE KEY", "ENCRYPTED PRIVATE KEY"])("with a %s, which is not shown", (label) => {
    const secret = newP256().privateKey.export({ type: "pkcs8", format: "der" });
    for (const chain of [
      SOUND.leaf.pem + pemOf(secret, label),
      pemOf(secret, label) + SOUND.leaf.pem,
      [SOUND.leaf.pem, pemOf(secret, label)],
    ]) {
      const { message } = refusalOf({ chain });
      expect(message).toContain("got a private key: keep it out of this option");
      expect(message).not.toContain(secret.toString("base64").slice(0, 20));
    }
    const error = thrownBy(() => read({ chain: [secret] })) as Error;
    expect(`${error.message} ${String(error.cause)}`).not.toContain(secret.toString("base64").slice(0, 20));
  });

  test.each([
    ["CERTIFICATE REQUEST", "got a certificate request: the certificate is what the CA returned for it"],
    ["NEW CERTIFICATE REQUEST", "got a certificate request"],
    ["X509 CRL", "got a revocation list"],
    ["RSA PUBLIC KEY", "got a public key"],
    ["PKCS7", "got a PKCS #7 container"],
    ["EC PARAMETERS", "got parameters of a key"],
    ["DH PARAMETERS", "got parameters of a key"],
    ["TRUSTED CERTIFICATE", "got a PEM block with another label"],
    ["ANYTHING", "got a PEM block with another label"],
  ])("with a block that is labeled %s, which is said", (label, message) => {
    expect(refusalOf({ chain: SOUND.leaf.pem + pemOf(Buffer.alloc(40), label) }).message).toContain(message);
  });

  test("is named by its entry and code", () => {
    const error = thrownBy(() =>
      createKeySet([{ keyId: "sig-1", signer: publishingSigner(jwk), certificates: { chain: foreign.pem } }]),
    );
    expect(error).toMatchObject({ code: "invalid_certificate", argument: "entries[0].certificates.chain" });
  });

  test("that is DER with an indefinite length", () => {
    const [indefinite] = [Buffer.concat([Buffer.of(0x30, 0x80), SOUND.leaf.der.subarray(4), Buffer.of(0, 0)])];
    expect(refusalOf({ chain: [indefinite] }).message).toContain("expected an X.509 certificate in DER");
  });

  test("that is any bytes", () => {
    for (let end = 1; end < SOUND.leaf.der.length; end += 7) {
      expect(refusalOf({ chain: [SOUND.leaf.der.subarray(0, end)] }).argument).toMatch(/chain$/);
      const changed = Buffer.from(SOUND.leaf.der);
      changed[end] = (changed[end] ?? 0) ^ 0xff;
      // A changed signature of the last certificate is not seen without its issuer, so the chain has one.
      refusalOf({ chain: [changed, SOUND.middle.der] });
    }
    refusalOf({ chain: [sequence(der(0x30, Buffer.alloc(0)))] });
  });
});

describe("the document", () => {
  const chain = bundleOf(SOUND.leaf, SOUND.middle, SOUND.root);
  const signer = publishingSigner(jwk);
  const bodyOf = (certificates: EntryCertificates | undefined): string =>
    Buffer.from(serializeJwks(createKeySet([{ keyId: "k", signer, certificates }])).body).toString();
  const key = `"kty":"EC","crv":"P-256","x":"${jwk.x}","y":"${jwk.y}","kid":"k","alg":"ES256","use":"sig"`;
  const x5c = `"x5c":["${SOUND.leaf.base64}","${SOUND.middle.base64}"]`;
  const x5t = `"x5t#S256":"${read({ chain })["x5t#S256"]}"`;

  test.each<[string, EntryCertificates | undefined, string]>([
    ["both members after the others", { chain }, `{"keys":[{${key},${x5c},${x5t}}]}`],
    ["the chain", { chain, publish: ["x5c"] }, `{"keys":[{${key},${x5c}}]}`],
    ["the thumbprint", { chain, publish: ["x5t#S256"] }, `{"keys":[{${key},${x5t}}]}`],
    [
      "both in this order, whatever the order of the option",
      { chain, publish: ["x5t#S256", "x5c"] },
      `{"keys":[{${key},${x5c},${x5t}}]}`,
    ],
    ["no member with an empty list", { chain, publish: [] }, `{"keys":[{${key}}]}`],
    ["no member without certificates", undefined, `{"keys":[{${key}}]}`],
  ])("has %s", (_, certificates, expected) => {
    expect(bodyOf(certificates)).toBe(expected);
  });

  test("is golden for a certificate of the key of RFC 7515 appendix A.3", () => {
    const set = createKeySet(
      [{ keyId: "sig-golden", signer: publishingSigner(), certificates: { chain: GOLDEN_CERTIFICATE } }],
      {
        now: () => Date.parse("2026-06-01T00:00:00Z"),
      },
    );
    const { body, etag } = serializeJwks(set);
    expect(etag).toBe(GOLDEN_CERTIFICATE_ETAG);
    expect(parseBody(body).keys[0]).toEqual({
      ...GOLDEN_JWK,
      kid: "sig-golden",
      alg: "ES256",
      use: "sig",
      x5c: [GOLDEN_CERTIFICATE.replaceAll(/-----[^-]+-----|\n/g, "")],
      "x5t#S256": GOLDEN_THUMBPRINT,
    });
  });

  test("is imported by jose, which reads the same key from the JWK and from x5c", async () => {
    const [entry] = parseBody(serializeJwks(createKeySet([{ signer, certificates: { chain } }])).body).keys;
    await importJWK(entry as JWK, "ES256");
    const [first = ""] = Array.isArray(entry?.["x5c"]) ? entry["x5c"].map(String) : [];
    const pem = pemOf(Buffer.from(first, "base64"), "CERTIFICATE");
    const certified = await importX509(pem, "ES256", { extractable: true });
    expect(await crypto.subtle.exportKey("jwk", certified)).toMatchObject({ x: jwk.x, y: jwk.y });
  });

  test("has another ETag for a new chain of the same key, and the set accepts it", () => {
    const renewed = issue({ ...SOUND.leaf.plan, until: 700 });
    const etags = [{ chain }, { chain: bundleOf(renewed, SOUND.middle) }].map(
      (certificates) => serializeJwks(createKeySet([{ keyId: "k", signer, certificates }])).etag,
    );
    expect(new Set(etags).size).toBe(2);
  });

  test("has certificates of keys without a signer", () => {
    const entries = [
      { keyId: "new", signer: publishingSigner(newP256Jwk()) },
      { keyId: "old", publicKey: jwk, certificates: { chain } },
    ];
    expect(parseBody(serializeJwks(createKeySet(entries)).body).keys[1]).toMatchObject({
      kid: "old",
      x5c: [SOUND.leaf.base64, SOUND.middle.base64],
    });
  });

  test("refuses more certificates than RPs read, and accepts them as thumbprints", () => {
    const many = Array.from({ length: 40 }, (_, index) => {
      const own = leaf(SOUND.middle);
      return {
        keyId: `k${index}`,
        signer: publishingSigner(own.jwk),
        certificates: { chain: bundleOf(own, SOUND.middle) },
      };
    });
    const error = thrownBy(() => createKeySet(many)) as ConfigurationError;
    expect(error).toMatchObject({ argument: "entries", code: "invalid_certificate" });
    expect(error.message).toContain("expected at most 40960 characters of certificates in one document");
    // The largest set that is accepted fits into what Nimbus reads.
    const most = many.findLastIndex((_, count) => isAccepted(many.slice(0, count)));
    expect(most).toBeGreaterThan(10);
    expect(serializeJwks(createKeySet(many.slice(0, most))).body.length).toBeLessThan(50 * 1024);
    const thumbprints = many.map((entry) => ({
      ...entry,
      certificates: { ...entry.certificates, publish: ["x5t#S256" as const] },
    }));
    expect(serializeJwks(createKeySet(thumbprints)).body.length).toBeLessThan(50_000);
  });
});

function isAccepted(entries: Parameters<typeof createKeySet>[0]): boolean {
  try {
    return createKeySet(entries).keys.length > 0;
  } catch {
    return false;
  }
}

describe("the validity", () => {
  const signer = publishingSigner(jwk);
  const chain = bundleOf(SOUND.leaf, SOUND.middle);
  const at = (time: number) => createKeySet([{ keyId: "k", signer, certificates: { chain } }], { now: () => time });
  const { validFrom, validTo } = new X509Certificate(SOUND.leaf.pem);
  const [from, until] = [Date.parse(validFrom), Date.parse(validTo)];

  test("includes its first and last moment", () => {
    expect(at(from).active.certificates?.x5c).toHaveLength(2);
    expect(at(until).active.certificates?.x5c).toHaveLength(2);
  });

  test.each([
    ["before", from - 1, "certificate 1 of 2 is not valid before"],
    ["after", until + 1, "certificate 1 of 2 expired at"],
  ])("refuses the moment %s it", (_, time, message) => {
    const error = thrownBy(() => at(time)) as ConfigurationError;
    expect(error).toMatchObject({ code: "invalid_certificate", argument: "entries[0].certificates" });
    expect(error.message).toContain(
      `kid "k": expected a chain that is valid at ${new Date(time).toISOString()}, but ${message}`,
    );
  });

  test("includes that of the trust anchor", () => {
    const middle = intermediate(root({ until: 2 }));
    const own = leaf(middle);
    const certificates = { chain: bundleOf(own, middle), trustAnchors: middle.plan.issuer?.pem ?? "" };
    const make = (): unknown =>
      createKeySet([{ signer: publishingSigner(own.jwk), certificates }], { now: () => Date.now() + 3 * 86_400_000 });
    expect((thrownBy(make) as Error).message).toContain("the trust anchor expired at");
  });
});
