import { execFileSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type GuardedSigner, jwkThumbprint } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import {
  createCsr,
  inspectChain,
  readCertificates,
  selfSigned,
  type CertificateInfo,
  type SelfSignedOptions,
} from "@signpost/x509";
import { openssl } from "./support/openssl.ts";

let folder: string;
let signer: GuardedSigner;
let root: CertificateInfo;
let middle: CertificateInfo;
let leaf: CertificateInfo;

/** Certificates of an authority that openssl runs. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "signpost-x509-"));
  signer = await openLocalSigner();
  root = await authority("root");
  middle = await issue(
    "middle",
    "root",
    await request("middle"),
    "basicConstraints=critical,CA:true,pathlen:0\nkeyUsage=critical,keyCertSign,cRLSign",
  );
  const { pem } = await createCsr(signer, { subject: "CN=op", subjectAltNames: [{ uri: "https://op.example" }] });
  leaf = await issue(
    "leaf",
    "middle",
    pem,
    "subjectAltName=URI:https://op.example\nextendedKeyUsage=clientAuth,1.2.3.4",
  );
});

afterAll(async () => {
  await signer.close();
  await rm(folder, { recursive: true });
});

function only(certificates: readonly CertificateInfo[]): CertificateInfo {
  const [certificate] = certificates;
  if (certificate === undefined || certificates.length !== 1) throw new Error("expected one certificate");
  return certificate;
}

async function newKey(name: string): Promise<string> {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const path = join(folder, `${name}.key`);
  await writeFile(path, privateKey.export({ type: "pkcs8", format: "pem" }));
  return path;
}

async function newRsaKey(name: string, modulusLength: number): Promise<string> {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength });
  const path = join(folder, `${name}.key`);
  await writeFile(path, privateKey.export({ type: "pkcs8", format: "pem" }));
  return path;
}

/** With the key in this file, or a new one. */
async function authority(name: string, file?: string, ...args: readonly string[]): Promise<CertificateInfo> {
  const key = file ?? (await newKey(name));
  const pem = openssl("", "req", "-x509", "-key", key, "-subj", `/O=Example/CN=${name}`, "-days", "30", ...args);
  await writeFile(join(folder, `${name}.pem`), pem);
  return only(readCertificates(pem));
}

async function request(name: string): Promise<string> {
  return openssl("", "req", "-new", "-key", await newKey(name), "-subj", `/O=Example/CN=${name}`);
}

async function issue(
  name: string,
  issuer: string,
  csr: string,
  extensions: string,
  ...args: readonly string[]
): Promise<CertificateInfo> {
  await writeFile(join(folder, `${name}.ext`), extensions);
  const files = [
    "-CA",
    join(folder, `${issuer}.pem`),
    "-CAkey",
    join(folder, `${issuer}.key`),
    "-extfile",
    join(folder, `${name}.ext`),
  ];
  const pem = execFileSync("openssl", ["x509", "-req", "-days", "10", "-CAcreateserial", ...files, ...args], {
    input: csr,
    encoding: "utf8",
    stdio: ["pipe", "pipe", "ignore"],
  });
  await writeFile(join(folder, `${name}.pem`), pem);
  return only(readCertificates(pem));
}

test("what a certificate says is what openssl says", () => {
  const told = openssl(
    leaf.pem,
    "x509",
    "-noout",
    "-subject",
    "-issuer",
    "-serial",
    "-fingerprint",
    "-sha256",
    "-nameopt",
    "RFC2253",
  );
  expect(told).toContain(`subject=${leaf.subject}\n`);
  expect(told).toContain(`issuer=${leaf.issuer}\n`);
  expect(told).toContain(`serial=${leaf.serialNumber.toUpperCase()}\n`);
  const fingerprint = Buffer.from(leaf.x5tS256, "base64url").toString("hex").toUpperCase().match(/../g)?.join(":");
  expect(told).toContain(`ingerprint=${fingerprint}\n`);
  expect(leaf).toMatchObject({
    subject: "CN=op",
    issuer: "CN=middle,O=Example",
    subjectAltNames: [{ uri: "https://op.example" }],
    keyUsage: undefined,
    extendedKeyUsage: ["clientAuth", "1.2.3.4"],
    basicConstraints: undefined,
    otherCriticalExtensions: [],
    keyType: "EC P-256",
    thumbprint: jwkThumbprint(signer.publicKey),
    signatureAlgorithm: "1.2.840.10045.4.3.2",
  });
  expect(leaf.notAfter.getTime() - leaf.notBefore.getTime()).toBe(10 * 86_400_000);
  expect(middle).toMatchObject({
    keyUsage: ["keyCertSign", "cRLSign"],
    basicConstraints: { ca: true, pathLength: 0 },
  });
});

test("a certificate of version 1, without a version and extensions, says when it is valid", async () => {
  const csr = await request("first");
  const files = ["-CA", join(folder, "root.pem"), "-CAkey", join(folder, "root.key"), "-CAcreateserial"];
  const pem = openssl(csr, "x509", "-req", "-days", "7", ...files);
  const info = only(readCertificates(pem));
  expect(openssl(pem, "x509", "-noout", "-text")).toContain("Version: 1 (0x0)");
  const told = openssl(pem, "x509", "-noout", "-startdate", "-enddate");
  const times = told.match(/(?<==).*/g)?.map((time) => new Date(time));
  expect([info.notBefore, info.notAfter]).toEqual(times);
  expect(info.notAfter.getTime() - info.notBefore.getTime()).toBe(7 * 86_400_000);
  expect(info).toMatchObject({
    subject: "CN=first,O=Example",
    subjectAltNames: [],
    basicConstraints: undefined,
    subjectKeyIdentifier: undefined,
    authorityKeyIdentifier: undefined,
  });
});

test("a chain is put into order, from any order", () => {
  for (const certificates of [
    [leaf, middle, root],
    [root, leaf, middle],
    [middle, root, leaf],
  ]) {
    const { chain, isInOrder, problems, endsWithRoot, unrelated } = inspectChain(certificates);
    expect(chain.map(({ subject }) => subject)).toEqual(["CN=op", "CN=middle,O=Example", "CN=root,O=Example"]);
    expect(isInOrder).toBe(certificates[0] === leaf);
    expect({ problems, endsWithRoot, unrelated }).toEqual({ problems: [], endsWithRoot: true, unrelated: [] });
  }
});

test("a chain is read from PEM with text around it, from DER, and from x5c", async () => {
  const pem = `Bag Attributes\n${leaf.pem}subject=x\n${middle.pem}`;
  expect(readCertificates(pem).map(({ subject }) => subject)).toEqual([leaf.subject, middle.subject]);
  expect(readCertificates(leaf.der)).toEqual([leaf]);
  const x5c = [leaf, middle].map(({ der }) => Buffer.from(der).toString("base64"));
  expect(readCertificates(x5c)).toEqual([leaf, middle]);
  expect(readCertificates(await readFile(join(folder, "leaf.pem"), "utf8"))).toEqual([leaf]);
});

test("trust is said only if there is an anchor", async () => {
  expect(inspectChain([leaf, middle]).isTrusted).toBeUndefined();
  expect(inspectChain([leaf, middle], { trustAnchors: [root] })).toMatchObject({ isTrusted: true, problems: [] });
  expect(inspectChain([leaf, middle], { trustAnchors: [middle] }).isTrusted).toBe(true);
  const other = await authority("other");
  expect(inspectChain([leaf, middle], { trustAnchors: [other] })).toMatchObject({
    isTrusted: false,
    problems: [{ code: "untrusted", certificate: -1 }],
  });
  // The same name, and another key.
  const impostor = await authority("root");
  expect(inspectChain([leaf, middle], { trustAnchors: [impostor] }).isTrusted).toBe(false);
  expect(inspectChain([leaf, middle, impostor])).toMatchObject({ endsWithRoot: false, unrelated: [impostor] });
});

test("dates count at the time that is given, and the last second belongs to the certificate", () => {
  const codes = (now: Date | string): readonly string[] =>
    inspectChain([leaf], { now }).problems.map(({ code }) => code);
  expect(codes(leaf.notBefore)).toEqual([]);
  expect(codes(new Date(leaf.notBefore.getTime() - 1))).toEqual(["not_yet_valid"]);
  expect(codes(new Date(leaf.notAfter.getTime() + 999))).toEqual([]);
  expect(codes(new Date(leaf.notAfter.getTime() + 1000))).toEqual(["expired"]);
  expect(codes("2999-01-01T00:00:00Z")).toEqual(["expired"]);
});

test("an issuer that is no authority, and a path that is too long", async () => {
  await issue("plain", "root", await request("plain"), "keyUsage=digitalSignature");
  const wrong = await issue("wrong", "plain", await request("wrong"), "keyUsage=digitalSignature");
  const plain = only(readCertificates(await readFile(join(folder, "plain.pem"), "utf8")));
  expect(inspectChain([wrong, plain]).problems.map(({ code, certificate }) => [code, certificate])).toEqual([
    ["not_an_issuer", 1],
    ["not_an_issuer", 1],
  ]);
  // Below the one with pathlen:0, there may be no other authority.
  await issue("deep", "middle", await request("deep"), "basicConstraints=critical,CA:true");
  const deepest = await issue("deepest", "deep", await request("deepest"), "keyUsage=digitalSignature");
  const deep = only(readCertificates(await readFile(join(folder, "deep.pem"), "utf8")));
  expect(inspectChain([deepest, deep, middle, root]).problems).toMatchObject([
    { code: "path_too_long", certificate: 2 },
  ]);
});

/** Another certificate for the key and the name of an authority, as that of an authority if nothing else is asked for. */
async function again(name: string, options: Partial<SelfSignedOptions>): Promise<CertificateInfo> {
  await using key = await openLocalSigner({ privateKey: await readFile(join(folder, `${name}.key`), "utf8") });
  const subject = [{ O: "Example" }, { CN: name }];
  const { der } = await selfSigned(key, { subject, extensions: { basicConstraints: { ca: true } }, ...options });
  return only(readCertificates(der));
}

test("a root that was renewed with its key ends the chain", async () => {
  const first = await authority("first");
  const end = await issue("of-first", "first", await request("of-first"), "keyUsage=digitalSignature");
  const renewed = await again("first", { validityDays: 60 });
  for (const certificates of [
    [end, renewed, first],
    [end, first, renewed],
  ]) {
    expect(inspectChain(certificates)).toMatchObject({
      chain: [end, renewed],
      unrelated: [first],
      endsWithRoot: true,
      isInOrder: false,
      problems: [],
    });
  }
});

test("a certificate that another authority made for a root is part of the chain, and the root is a trust anchor", async () => {
  const [older, newer] = [await authority("older"), await authority("newer")];
  const end = await issue("of-newer", "newer", await request("of-newer"), "keyUsage=digitalSignature");
  const csr = openssl("", "req", "-new", "-key", join(folder, "newer.key"), "-subj", "/O=Example/CN=newer");
  const cross = await issue("cross", "older", csr, "basicConstraints=critical,CA:true");
  expect(inspectChain([end, newer, cross, older])).toMatchObject({ chain: [end, cross, older], unrelated: [newer] });
  for (const anchor of [newer, older]) {
    expect(inspectChain([end, cross], { trustAnchors: [anchor] })).toMatchObject({ isTrusted: true, problems: [] });
  }
});

test("authorities that were issued under their own name do not count for the length of a path", async () => {
  const top = await authority("top");
  await issue("ca", "top", await request("ca"), "basicConstraints=critical,CA:true,pathlen:0");
  const ca = only(readCertificates(await readFile(join(folder, "ca.pem"), "utf8")));
  // A new key under the same name.
  const csr = openssl("", "req", "-new", "-key", await newKey("ca2"), "-subj", "/O=Example/CN=ca");
  const rolled = await issue("ca2", "ca", csr, "basicConstraints=critical,CA:true,pathlen:0");
  const end = await issue("end", "ca2", await request("end"), "keyUsage=digitalSignature");
  expect(inspectChain([end, rolled, ca, top])).toMatchObject({ chain: [end, rolled, ca, top], problems: [] });
  await writeFile(join(folder, "both.pem"), ca.pem + rolled.pem);
  const files = ["-CAfile", join(folder, "top.pem"), "-untrusted", join(folder, "both.pem"), join(folder, "end.pem")];
  expect(openssl("", "verify", ...files)).toContain("OK");
});

test("a trust anchor that has expired, or may not issue, is a problem", async () => {
  const anchor = await authority("anchor");
  const end = await issue("of-anchor", "anchor", await request("of-anchor"), "keyUsage=digitalSignature");
  const expired = await again("anchor", { notBefore: "2020-01-01T00:00:00Z", notAfter: "2021-01-01T00:00:00Z" });
  const problems = (...trustAnchors: readonly CertificateInfo[]): unknown =>
    inspectChain([end], { trustAnchors }).problems;
  expect(problems(expired)).toEqual([
    { certificate: -1, code: "expired", message: "the trust anchor: it has expired on 2021-01-01T00:00:00Z" },
  ]);
  expect(problems(await again("anchor", { extensions: {} }))).toMatchObject([
    { certificate: -1, code: "not_an_issuer" },
    { certificate: -1, code: "not_an_issuer" },
  ]);
  // One that is good is enough.
  expect(problems(expired, anchor)).toEqual([]);
});

test("a critical extension that was not evaluated, and a weak signature", async () => {
  const strange = await issue(
    "strange",
    "middle",
    await request("strange"),
    "1.3.6.1.4.1.99999.5=critical,DER:0500",
    "-sha1",
  );
  expect(strange.otherCriticalExtensions).toEqual(["1.3.6.1.4.1.99999.5"]);
  expect(inspectChain([strange]).problems.map(({ code }) => code)).toEqual(["not_evaluated", "weak_signature"]);
});

test.each([
  ["SHA-224", ["-sha224"]],
  ["SHA3-256", ["-sha3-256"]],
  ["RSASSA-PSS and SHA-1", ["-sha1", "-sigopt", "rsa_padding_mode:pss"]],
])("a signature with %s is weak, as in the certificates of a key set", async (hash, args) => {
  const issuer = hash.startsWith("RSA") ? "weak-rsa" : "root";
  if (issuer !== "root") await authority(issuer, await newRsaKey(issuer, 2048));
  const weak = await issue("weak", issuer, await request("weak"), "", ...args);
  expect(inspectChain([weak]).problems).toEqual([
    { certificate: 0, code: "weak_signature", message: "expected a signature with SHA-256, SHA-384, SHA-512 or EdDSA" },
  ]);
});

test("nothing depends on the signature of a root, but on the size of its key", async () => {
  const old = await authority("old", await newRsaKey("old", 2048), "-sha1");
  const small = await authority("small", await newRsaKey("small", 1024));
  const ends = [
    await issue("end-old", "old", await request("a"), ""),
    await issue("end", "small", await request("b"), ""),
  ];
  const [good, weak] = ends.map((end, index) => inspectChain([end, index === 0 ? old : small]).problems);
  expect(good).toEqual([]);
  const message = "expected an RSA key of at least 2048 bits, got 1024";
  expect(weak).toEqual([{ certificate: 1, code: "weak_key", message }]);
  expect(inspectChain([ends[1] ?? old], { trustAnchors: [small] }).problems).toEqual([
    { certificate: -1, code: "weak_key", message: `the trust anchor: ${message}` },
  ]);
});

test.each([
  ["keyUsage", "2.5.29.15=DER:0102", "the extension keyUsage is not DER"],
  ["authorityInfoAccess", "1.3.6.1.5.5.7.1.1=DER:0500", "the extension authorityInfoAccess cannot be read"],
])("a certificate alone with an unreadable %s is malformed", async (_, extension, message) => {
  const odd = await issue("odd", "root", await request("odd"), extension);
  expect(inspectChain([odd]).problems).toEqual([{ certificate: 0, code: "malformed", message }]);
});

test("RSA keys and names of other kinds are shown", async () => {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const path = join(folder, "rsa.key");
  await writeFile(path, privateKey.export({ type: "pkcs8", format: "pem" }));
  const san = "subjectAltName=otherName:1.2.3;UTF8:x,dirName:dn,IP:2001:db8::1\n[dn]\nCN=x";
  const rsa = await issue("rsa", "root", openssl("", "req", "-new", "-key", path, "-subj", "/CN=rsa"), san);
  expect(rsa.keyType).toBe("RSA 2048");
  expect(rsa.thumbprint).toBe(jwkThumbprint(privateKey.export({ format: "jwk" })));
  expect(rsa.subjectAltNames).toEqual([{ other: "otherName" }, { other: "directoryName" }, { ip: "2001:db8::1" }]);
});

test("one certificate twice is one certificate", () => {
  const twice = inspectChain([leaf, leaf, middle]);
  expect(twice).toMatchObject({ chain: [leaf, middle], unrelated: [], isInOrder: false });
});

test("the self-signed certificate of a signer is a whole chain", async () => {
  const { der } = await selfSigned(signer, { subject: "CN=op" });
  expect(inspectChain(readCertificates(der))).toMatchObject({ endsWithRoot: true, isInOrder: true, problems: [] });
});

test.each([
  ["", "0"],
  ["no PEM", "0"],
  [7, "got 7"],
  [new Uint8Array([0x30, 0]), "X.509"],
  [[], "0"],
  [["not base64!"], "base64"],
  ["-----BEGIN CERTIFICATE-----\n!!\n-----END CERTIFICATE-----\n", "base64"],
])("%j is refused", (value, words) => {
  expect(() => readCertificates(value as never)).toThrow(words);
});

test("a request, bytes after a certificate and too many of them are refused", async () => {
  const { pem } = await createCsr(signer, { subject: "CN=op" });
  expect(() => readCertificates(pem)).toThrow("got a certificate request");
  expect(() => readCertificates(Buffer.concat([leaf.der, Uint8Array.of(0)]))).toThrow("bytes after the certificate");
  expect(() => readCertificates(leaf.pem.repeat(33))).toThrow("got 33");
  expect(() => inspectChain([])).toThrow("got none");
  expect(() => inspectChain([{ der: Uint8Array.of(1) } as never])).toThrow("readCertificates");
  expect(() => inspectChain([leaf], { at: 1 } as never)).toThrow("unknown option");
});
