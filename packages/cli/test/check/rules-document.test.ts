import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { selfSignedCertificate } from "@signpost/test-backends/self-signed";
import { expect, test } from "vitest";
import { check, differences, EC_KEY, ED_KEY, judged, op, RSA_KEY } from "./support/op.ts";
import { PSS_CERTIFICATE, PSS_MODULUS } from "./support/pss-certificate.ts";

// A set with one fault, and the verdicts of all rules that it changes. Each verdict was decided by hand from the clause.

type Verdicts = Readonly<Record<string, string>>;

const { d: _d, ...SHORT_RSA } = generateKeyPairSync("rsa", { modulusLength: 1024 }).privateKey.export({
  format: "jwk",
});
const shortRsa = { kty: "RSA", n: SHORT_RSA.n, e: SHORT_RSA.e, kid: "r", alg: "RS256", use: "sig" };
const second = { ...ED_KEY, kid: "sig-2" };

/** 43 characters that are not canonical: the last one has bits that are not zero. */
const sloppy = `${EC_KEY.x.slice(0, -1)}V`;
const padded = `${EC_KEY.x}=`;
/** The coordinate without its first byte, as serializers write it that drop zero bytes. */
const shortX = Buffer.from(EC_KEY.x, "base64url").subarray(1).toString("base64url");
const standardAlphabet = EC_KEY.y.replaceAll("_", "/");
const withSignByte = Buffer.concat([Buffer.of(0), Buffer.from(RSA_KEY.n, "base64url")]).toString("base64url");

const pssKey = { kty: "RSA", n: PSS_MODULUS, e: "AQAB", kid: "pss", alg: "PS256", use: "sig" };
const certified = selfSignedCertificate("op.example");
const certificate = new X509Certificate(certified.cert);
const x5c = [certificate.raw.toString("base64")];
const certifiedKey = { ...certificate.publicKey.export({ format: "jwk" }), kid: "c", alg: "ES256", use: "sig" };

test.each<readonly [string, readonly unknown[], Verdicts]>([
  ["no keys", [], { "key-signing": "must", algorithms: "skipped" }],
  [
    "only an encryption key",
    [{ ...EC_KEY, use: "enc", alg: "ECDH-ES" }],
    { "key-signing": "must", algorithms: "should" },
  ],
  [
    "only an RSA key for RSA-OAEP",
    [{ ...RSA_KEY, alg: "RSA-OAEP", use: undefined }],
    { "key-signing": "must", algorithms: "should" },
  ],
  [
    "only a key for ECDH-ES",
    [{ ...EC_KEY, alg: "ECDH-ES", use: undefined }],
    { "key-signing": "must", algorithms: "should" },
  ],
  [
    "only a key on X25519",
    [{ ...ED_KEY, crv: "X25519", alg: undefined, use: undefined }],
    { "key-signing": "must", algorithms: "should" },
  ],
  [
    "only a key that may not verify",
    [{ ...EC_KEY, key_ops: ["sign"] }],
    { "key-signing": "must", "key-ops": "should" },
  ],
  ["a string as an entry", [EC_KEY, "key"], { "key-entry": "must" }],
  ["null as an entry", [null, EC_KEY], { "key-entry": "must" }],
  ["no kty", [EC_KEY, { kid: "sig-2" }], { "key-entry": "must" }],
  ["kty is a number", [EC_KEY, { kid: "sig-2", kty: 2 }], { "key-entry": "must" }],
  ["kid is a number", [{ ...EC_KEY, kid: 7 }], { "key-entry": "must" }],
  ["kid is null", [{ ...EC_KEY, kid: null }], { "key-entry": "must", kid: "should" }],
  ["use is null", [{ ...EC_KEY, use: null }], { "key-entry": "must" }],
  [
    "an unknown key type too",
    [EC_KEY, { kty: "AKP", alg: "ML-DSA-65", pub: "AA", kid: "pq", use: "sig" }],
    { "key-entry": "note", alg: "note" },
  ],
  [
    "a curve that is not checked",
    [EC_KEY, { ...EC_KEY, kid: "k", crv: "secp256k1", alg: "ES256K" }],
    { "key-entry": "note" },
  ],

  ["EC d", [{ ...EC_KEY, d: "AA" }], { "key-private": "must" }],
  ["RSA d", [EC_KEY, { ...RSA_KEY, d: "AA" }], { "key-private": "must" }],
  ["RSA p alone", [EC_KEY, { ...RSA_KEY, p: "AA" }], { "key-private": "must" }],
  ["OKP d", [EC_KEY, { ...ED_KEY, d: "AA" }], { "key-private": "must" }],
  ["an HMAC key", [EC_KEY, { kty: "oct", k: "AA", kid: "h", alg: "HS256", use: "sig" }], { "key-private": "must" }],
  [
    "AKP priv",
    [EC_KEY, { kty: "AKP", priv: "AA", pub: "AA", kid: "pq", use: "sig" }],
    { "key-private": "must", "key-entry": "note" },
  ],
  ["d is null", [{ ...EC_KEY, d: null }], {}],

  ["x with padding", [{ ...EC_KEY, x: padded }], { "key-value": "must", "key-signing": "must" }],
  [
    "x with bits that are not zero at its end",
    [{ ...EC_KEY, x: sloppy }],
    { "key-value": "must", "key-signing": "must" },
  ],
  ["y in the alphabet of base64", [{ ...EC_KEY, y: standardAlphabet }], { "key-value": "must", "key-signing": "must" }],
  ["x without its first byte", [{ ...EC_KEY, x: shortX }], { "key-value": "must", "key-signing": "must" }],
  ["a point that is not on the curve", [{ ...EC_KEY, y: EC_KEY.x }], { "key-value": "must", "key-signing": "must" }],
  ["no y", [{ ...EC_KEY, y: undefined }], { "key-value": "must", "key-signing": "must" }],
  ["no crv", [{ ...EC_KEY, crv: undefined }], { "key-value": "must", "key-signing": "must" }],
  ["n with a zero byte in front", [EC_KEY, { ...RSA_KEY, n: withSignByte }], { "key-value": "must" }],
  ["an Ed25519 key of 31 bytes", [EC_KEY, { ...ED_KEY, x: shortX }], { "key-value": "must" }],
  ["RSA with 1024 bits", [EC_KEY, shortRsa], { "key-strength": "must" }],

  ["a certificate of the key", [{ ...certifiedKey, x5c }], {}],
  ["its thumbprint", [{ ...certifiedKey, x5c, "x5t#S256": thumbprint(certificate.fingerprint256) }], {}],
  ["its old thumbprint", [{ ...certifiedKey, x5c, x5t: thumbprint(certificate.fingerprint) }], {}],
  [
    "another thumbprint",
    [{ ...certifiedKey, x5c, "x5t#S256": thumbprint(certificate.fingerprint) }],
    { "key-certificate": "must" },
  ],
  ["the certificate of another key", [{ ...EC_KEY, x5c }], { "key-certificate": "must" }],
  ["a certificate of an RSA key for RSASSA-PSS only", [EC_KEY, { ...pssKey, x5c: [PSS_CERTIFICATE] }], {}],
  [
    "such a certificate of another RSA key",
    [EC_KEY, { ...pssKey, n: RSA_KEY.n, x5c: [PSS_CERTIFICATE] }],
    { "key-certificate": "must" },
  ],
  ["such a certificate for a key on a curve", [{ ...EC_KEY, x5c: [PSS_CERTIFICATE] }], { "key-certificate": "must" }],
  ["a second certificate", [{ ...certifiedKey, x5c: [...x5c, ...x5c] }], {}],
  [
    "PEM instead of DER",
    [{ ...certifiedKey, x5c: [Buffer.from(certificate.toString()).toString("base64")] }],
    { "key-certificate": "must" },
  ],
  [
    "bytes after the certificate",
    [{ ...certifiedKey, x5c: [Buffer.concat([certificate.raw, Buffer.alloc(3)]).toString("base64")] }],
    { "key-certificate": "must" },
  ],
  [
    "a second x5c value that is no certificate",
    [{ ...certifiedKey, x5c: [...x5c, "AAAA"] }],
    { "key-certificate": "must" },
  ],
  ["a second x5c value that is no text", [{ ...certifiedKey, x5c: [...x5c, 7] }], { "key-certificate": "must" }],
  ["x5c in base64url", [{ ...certifiedKey, x5c: ["a-_"] }], { "key-certificate": "must" }],
  ["x5c that is no certificate", [{ ...certifiedKey, x5c: ["AAAA"] }], { "key-certificate": "must" }],
  ["x5c that is no array", [{ ...certifiedKey, x5c: x5c[0] }], { "key-certificate": "must" }],

  ["one key without a kid", [{ ...EC_KEY, kid: undefined }], { kid: "should" }],
  ["two keys, one without a kid", [EC_KEY, { ...ED_KEY, kid: undefined }], { kid: "must" }],
  ["an empty kid", [EC_KEY, { ...ED_KEY, kid: "" }], { kid: "must" }],
  [
    "one kid for two keys of a type",
    [RSA_KEY, { ...RSA_KEY, n: otherModulus() }, EC_KEY],
    { "kid-distinct": "should" },
  ],
  ["one kid for two types", [EC_KEY, { ...ED_KEY, kid: "sig-1" }], { "kid-distinct": "note" }],
  ["one key under two kids", [EC_KEY, { ...EC_KEY, kid: "sig-2" }], { "same-key": "note" }],
  ["kids that differ in case", [EC_KEY, { ...ED_KEY, kid: "SIG-1" }], {}],

  [
    "sig, enc, and one without use",
    [EC_KEY, { ...RSA_KEY, use: "enc", alg: "RSA-OAEP" }, { ...second, use: undefined }],
    { use: "must" },
  ],
  [
    "an encryption key by its alg, and one without use",
    [
      { ...EC_KEY, use: undefined },
      { ...RSA_KEY, use: "enc", alg: "RSA-OAEP" },
    ],
    { use: "must" },
  ],
  [
    "an encryption key without use, by its alg",
    [EC_KEY, { ...RSA_KEY, use: undefined, alg: "RSA-OAEP" }],
    { use: "must" },
  ],
  [
    "an encryption key without use, by its key_ops",
    [EC_KEY, { ...RSA_KEY, use: undefined, alg: undefined, key_ops: ["encrypt"] }],
    { use: "must" },
  ],
  [
    "one key that signs and one that encrypts, without a kid",
    [EC_KEY, { ...RSA_KEY, kid: undefined, use: "enc", alg: "RSA-OAEP" }],
    { kid: "must" },
  ],
  ["another use", [EC_KEY, { ...second, use: "tls" }], { use: "note" }],
  ["use and key_ops", [{ ...EC_KEY, key_ops: ["verify"] }], { "key-ops": "should" }],
  ["key_ops sign", [{ ...EC_KEY, use: undefined, key_ops: ["sign", "verify"] }], { "key-ops": "should" }],
  ["key_ops twice", [{ ...EC_KEY, use: undefined, key_ops: ["verify", "verify"] }], { "key-ops": "must" }],
  ["key_ops as text", [{ ...EC_KEY, use: undefined, key_ops: "verify" }], { "key-ops": "must" }],
  ["ES384 for P-256", [{ ...EC_KEY, alg: "ES384" }], { alg: "must", "key-signing": "must", algorithms: "should" }],
  ["HS256 for an EC key", [{ ...EC_KEY, alg: "HS256" }], { alg: "must", "key-signing": "must", algorithms: "should" }],
  ["none", [{ ...EC_KEY, alg: "none" }], { alg: "must", "key-signing": "must", algorithms: "should" }],
  ["es256 in small letters", [{ ...EC_KEY, alg: "es256" }], { alg: "note", algorithms: "should" }],
  ["an encryption algorithm for a signing key", [EC_KEY, { ...RSA_KEY, alg: "RSA-OAEP" }], { alg: "should" }],
  ["EdDSA and Ed25519", [EC_KEY, ED_KEY, { ...otherEd(), alg: "Ed25519" }], {}],
])("%s", async (_name, keys, expected) => {
  const { verdicts, words } = await judged(op({ keys }));
  expect(verdicts).toEqual(expected);
  expect(words).toMatchSnapshot();
});

test.each<readonly [string, string | Uint8Array, string | undefined, Verdicts]>([
  ["HTML", "<!doctype html><title>Sign in</title>", "text/html", { ...noSet(), "media-type": "should" }],
  ["nothing", "", undefined, noSet()],
  ["JSON that is cut off", '{"keys":[', undefined, noSet()],
  ["an array", "[]", undefined, noSet()],
  ["an object without keys", "{}", undefined, noSet()],
  ["keys as an object", '{"keys":{}}', undefined, noSet()],
  ["a byte order mark", `\uFEFF${JSON.stringify({ keys: [EC_KEY] })}`, undefined, noSet()],
  [
    "a kid twice in one key",
    JSON.stringify({ keys: [EC_KEY] }).replace("{", '{"keys":[],'),
    undefined,
    { "member-names": "must" },
  ],
  ["the same name in two keys", JSON.stringify({ keys: [EC_KEY, ED_KEY] }), undefined, {}],
  ["a kid that looks like a member", JSON.stringify({ keys: [{ ...EC_KEY, kid: '","kid":"' }] }), undefined, {}],
  ["application/json", JSON.stringify({ keys: [EC_KEY] }), "application/json; charset=utf-8", { "media-type": "note" }],
  [
    "a charset",
    JSON.stringify({ keys: [EC_KEY] }),
    "application/jwk-set+json; charset=utf-8",
    { "media-type": "note" },
  ],
  ["text/plain", JSON.stringify({ keys: [EC_KEY] }), "text/plain", { "media-type": "should" }],
  ["a large set", JSON.stringify({ keys: [EC_KEY], pad: "x".repeat(60_000) }), undefined, { size: "note" }],
  ["many keys", JSON.stringify({ keys: [EC_KEY, ...manyKeys()] }), undefined, { size: "note", "same-key": "note" }],
])("the body is %s", async (_name, text, type, expected) => {
  const headers = type === undefined ? {} : { "content-type": type };
  const { verdicts, words } = await judged(op({ text: String(text), headers }));
  expect(verdicts).toEqual(expected);
  expect(words).toMatchSnapshot();
});

test("no Content-Type", async () => {
  await expect(differences(op({ headers: { "content-type": undefined } }))).resolves.toEqual({
    "media-type": "should",
  });
});

test("a finding never quotes a private value, and shows no control character", async () => {
  const evil = "\u001b[2Jsig\u202e\u200b\n";
  const secret = "c2VjcmV0LXNlY3JldC1zZWNyZXQ";
  const keys = [
    { ...EC_KEY, kid: evil, d: secret, alg: evil, x: secret },
    { kty: "oct", k: secret, kid: "h" },
    { kty: evil, kid: evil, crv: evil, use: evil },
  ];
  const { rows } = await check(op({ keys, headers: { "content-type": "text/\u009b31m" } }));
  const texts = rows.flatMap(({ seen, findings }) => [seen, ...findings.flatMap((one) => [one.seen, one.advice])]);
  expect(texts.filter((text) => text.includes(secret) || /[\p{Cc}\p{Cf}]/u.test(text))).toEqual([]);
  expect(texts.join("\n")).toContain("\\u001b[2Jsig");
});

/** What a body that is no set leaves of the rules. */
function noSet(): Verdicts {
  const about = ["key-private", "key-entry", "key-value", "key-strength", "key-certificate", "key-signing"];
  const names = ["kid", "kid-distinct", "same-key", "use", "key-ops", "alg", "member-names", "algorithms"];
  return { "jwks-json": "must", ...Object.fromEntries([...about, ...names].map((rule) => [rule, "skipped"])) };
}

function thumbprint(fingerprint: string): string {
  return Buffer.from(fingerprint.replaceAll(":", ""), "hex").toString("base64url");
}

function otherModulus(): string | undefined {
  return generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey.export({ format: "jwk" }).n;
}

function otherEd(): object {
  return { ...generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" }), kid: "ed-2", use: "sig" };
}

function manyKeys(): readonly unknown[] {
  return Array.from({ length: 70 }, (_, index) => ({ ...ED_KEY, kid: `k${index}` }));
}
