import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { certificateFault, readCertificates } from "@signpost/core/adapter";
import { parseCertificate } from "../../src/certificate/parse-certificate.ts";
import {
  bundleOf,
  type CertificatePlan,
  intermediate,
  issue,
  type Issued,
  KEY_USAGE,
  leaf,
  newEd25519,
  newP256,
  newP384,
  newRsa,
  type Pair,
  root,
  soundChain,
} from "../support/certificates.ts";

const folder = mkdtempSync(join(tmpdir(), "certificates-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** The verdict of `openssl verify` with the strength that verifiers ask for today: no SHA-1, no RSA below 2048 bits. */
function opensslAccepts(chain: readonly Issued[], anchor: Issued): boolean {
  const file = (name: string, certificates: readonly Issued[]): string => {
    const path = join(folder, name);
    writeFileSync(path, bundleOf(...certificates));
    return path;
  };
  const [first, ...others] = chain;
  if (first === undefined) throw new Error("expected a certificate");
  const untrusted = others.length === 0 ? [] : ["-untrusted", file("untrusted.pem", others)];
  const trusted = ["-no-CApath", "-no-CAstore", "-partial_chain", "-CAfile", file("trusted.pem", [anchor])];
  try {
    execFileSync("openssl", ["verify", "-auth_level", "2", ...trusted, ...untrusted, file("first.pem", [first])], {
      stdio: "pipe",
    });
    return true;
  } catch (error) {
    // What did not run is no verdict.
    if ((error as NodeJS.ErrnoException).code !== undefined) throw error;
    return false;
  }
}

/** The verdict of the option `certificates`. Without a trust anchor, nothing is said about the issuer of the last one. */
function weAccept(chain: readonly Issued[], anchor?: Issued): boolean {
  const publicKey = chain[0]?.jwk;
  if (publicKey === undefined) throw new Error("expected a certificate");
  try {
    const options = { chain: bundleOf(...chain), trustAnchors: anchor?.pem };
    const certificates = readCertificates("certificates", options, { keyId: "k", publicKey });
    return certificateFault(certificates, Date.now()) === undefined;
  } catch {
    return false;
  }
}

const KEYS = { p256: newP256(), p384: newP384(), rsa: newRsa(), ed25519: newEd25519() };
const OTHER = newP256();
const WEAK_RSA = newRsa(1024);

describe("a chain of three", () => {
  const plans: readonly (readonly [
    string,
    { [Name in "root" | "middle" | "leaf"]?: Partial<CertificatePlan> },
    boolean,
  ])[] = [
    ["as it should be", {}, true],
    ["with an RSA root", { root: { key: KEYS.rsa } }, true],
    ["with an RSA issuer", { middle: { key: KEYS.rsa } }, true],
    ["with a P-384 root and issuer", { root: { key: KEYS.p384 }, middle: { key: KEYS.p384, hash: "sha384" } }, true],
    ["with an Ed25519 root", { root: { key: KEYS.ed25519 } }, true],
    ["with SHA-512", { leaf: { hash: "sha512" } }, true],
    ["with an expired certificate of the key", { leaf: { until: -0.5 } }, false],
    ["with an expired issuer", { middle: { until: -0.5 } }, false],
    ["with an expired root", { root: { until: -0.5 } }, false],
    ["that is not valid yet", { leaf: { from: 1 } }, false],
    ["that ends in 2060", { leaf: { until: 13_000 } }, true],
    ["that ends on the last of February", { leaf: { notAfter: "400229000000" } }, true],
    ["that ends on a day that there is not", { leaf: { notAfter: "410229000000" } }, false],
    ["that ends at hour 24", { leaf: { notAfter: "410228240000" } }, false],
    ["whose issuer is CA:FALSE", { middle: { ca: false } }, false],
    ["whose issuer has no basicConstraints", { middle: { ca: "none" } }, false],
    ["whose root is CA:FALSE", { root: { ca: false } }, false],
    ["whose issuer has pathLen 0", { middle: { pathLength: 0 } }, true],
    ["whose root has pathLen 0", { root: { pathLength: 0 } }, false],
    ["whose root has pathLen 1", { root: { pathLength: 1 } }, true],
    ["whose issuer may not sign certificates", { middle: { keyUsage: KEY_USAGE.digitalSignature } }, false],
    ["whose root may not sign certificates", { root: { keyUsage: KEY_USAGE.digitalSignature } }, false],
    ["whose issuer has no keyUsage", { middle: { keyUsage: "none" } }, true],
    ["with an unknown critical extension", { leaf: { unknown: "critical" } }, false],
    ["with an unknown critical extension of the issuer", { middle: { unknown: "critical" } }, false],
    ["with an unknown critical extension of the root", { root: { unknown: "critical" } }, false],
    ["with an unknown extension", { leaf: { unknown: "other" } }, true],
    ["with an extension that is there twice", { middle: { twice: true } }, false],
    ["with SHA-1 below the root", { middle: { hash: "sha1" } }, false],
    ["with SHA-1 in the certificate of the key", { leaf: { hash: "sha1" } }, false],
    ["with SHA-1 in the root's own signature", { root: { hash: "sha1" } }, true],
    ["with SHA-1 and RSA", { middle: { key: KEYS.rsa }, leaf: { hash: "sha1" } }, false],
    ["with RSASSA-PSS", { middle: { key: KEYS.rsa }, leaf: { pss: "sha256" } }, true],
    ["with RSASSA-PSS and SHA-1", { middle: { key: KEYS.rsa }, leaf: { pss: "sha1" } }, false],
    ["with a root of 1024 bits", { root: { key: WEAK_RSA } }, false],
    ["with an issuer of 1024 bits", { middle: { key: WEAK_RSA } }, false],
    ["signed with another key", { leaf: { signedBy: OTHER } }, false],
    ["whose issuer is signed with another key", { middle: { signedBy: OTHER } }, false],
    ["of a CA", { leaf: { ca: true, keyUsage: KEY_USAGE.digitalSignature | KEY_USAGE.certSign } }, true],
  ];

  test.each(plans)("%s", (_, plan, isAccepted) => {
    const top = root(plan.root);
    const middle = intermediate(top, plan.middle);
    const chain = [leaf(middle, plan.leaf), middle];
    expect(opensslAccepts(chain, top)).toBe(isAccepted);
    expect(weAccept(chain, top)).toBe(isAccepted);
    // The root may be in the chain too.
    expect(weAccept([...chain, top], top)).toBe(isAccepted);
  });

  const OTHER_VERSION = "it has extensions, and its version is not 3";
  test.each<readonly [string, Partial<CertificatePlan>, string | RegExp]>([
    ["of version 1", { version: "none" }, OTHER_VERSION],
    ["of version 2", { version: 1 }, OTHER_VERSION],
    ["of version 4", { version: 3 }, OTHER_VERSION],
    ["with a TRUE that is not DER", { trueByte: 1 }, /./],
    ["with a keyUsage that is not DER", { keyUsage: 0xff, unusedBits: 7 }, /./],
    ["and a negative serial number", { serial: [0x80, 1] }, "its serial number is negative"],
  ])("with extensions %s is refused, which openssl allows and other verifiers do not", (_, plan, problem) => {
    const top = root();
    const [middle, odd] = [intermediate(top), intermediate(top, plan)];
    expect(weAccept([leaf(middle), middle], top)).toBe(true);
    expect(weAccept([leaf(middle, plan), middle], top)).toBe(false);
    expect(weAccept([leaf(odd), odd], top)).toBe(false);
    expect(weAccept([leaf(middle), middle], root({ ...plan, key: top.plan.key }))).toBe(false);
    expect(parseCertificate(odd.der)).toMatch(problem);
  });

  test("whose root has no basicConstraints is refused, which openssl allows for old roots", () => {
    const top = root({ ca: "none" });
    const middle = intermediate(top);
    const chain = [leaf(middle), middle];
    expect(opensslAccepts(chain, top)).toBe(true);
    expect(weAccept(chain, top)).toBe(false);
  });

  test("under another root of the same name is refused by both", () => {
    const middle = intermediate(root());
    const chain = [leaf(middle), middle];
    expect(opensslAccepts(chain, root())).toBe(false);
    expect(weAccept(chain, root())).toBe(false);
  });

  test("is accepted by both if its issuer is the trust anchor", () => {
    const middle = intermediate(root());
    expect(opensslAccepts([leaf(middle)], middle)).toBe(true);
    expect(weAccept([leaf(middle)], middle)).toBe(true);
    expect(weAccept([leaf(middle), middle], middle)).toBe(true);
  });

  test("with a cross certificate at its end is accepted by both", () => {
    const [old, fresh] = [root({ name: "Old" }), root({ name: "Fresh", key: KEYS.p384 })];
    const cross = issue({ name: "Fresh", key: KEYS.p384, issuer: old });
    const middle = intermediate(fresh);
    const chain = [leaf(middle), middle, cross];
    for (const anchor of [old, fresh]) {
      expect(opensslAccepts(chain, anchor)).toBe(true);
      expect(weAccept(chain, anchor)).toBe(true);
    }
  });
});

describe("a certificate of the key alone", () => {
  test.each<[name: string, id: string, value: string, isReadable: boolean]>([
    ["subjectAltName", "551d11", "300c820a6f702e6578616d706c65", true],
    ["subjectAltName", "551d11", "0500", false],
    ["subjectAltName", "551d11", "30068704c0000201", true],
    ["subjectAltName", "551d11", "3012871020010db8000000000000000000000001", true],
    ["subjectAltName", "551d11", "30020500", false],
    ["extKeyUsage", "551d25", "300a06082b06010505070302", true],
    ["extKeyUsage", "551d25", "0500", false],
    ["extKeyUsage", "551d25", "30020500", false],
    ["nameConstraints", "551d1e", "0500", false],
    ["cRLDistributionPoints", "551d1f", "301f301da01ba0198617687474703a2f2f63612e6578616d706c652f612e63726c", true],
    ["cRLDistributionPoints", "551d1f", "0500", false],
  ])("with the extension %s (%s: %s) is accepted if openssl accepts it: %s", (name, id, value, isReadable) => {
    const top = root();
    const own = leaf(top, { extension: [id, value] });
    expect(opensslAccepts([own], top)).toBe(isReadable);
    expect([weAccept([own], top), weAccept([own])]).toEqual([isReadable, isReadable]);
    if (!isReadable) expect(parseCertificate(own.der)).toBe(`the extension ${name} cannot be read`);
  });

  test.each([
    ["issuerAltName that is no list", "551d12", "0500"],
    ["policyConstraints that are no list", "551d24", "0500"],
    ["an IP address of three bytes", "551d11", "30058703c00002"],
    ["a name that is not ASCII", "551d11", "30068204c3a94141"],
    ["a choice that there is not", "551d11", "30038901ff"],
    ["policies that are no list", "551d20", "0500"],
    ["policy mappings that are no list", "551d21", "0500"],
    ["inhibitAnyPolicy that is no number", "551d36", "0500"],
    ["authorityInfoAccess that is no list", "2b06010505070101", "0500"],
  ])("with %s is refused, since some verifiers read it", (_, id, value) => {
    const top = root();
    expect(weAccept([leaf(top, { extension: [id, value] })])).toBe(false);
  });

  test("with an extension that is not one of RFC 5280 is accepted, whatever is in it", () => {
    const top = root();
    expect(weAccept([leaf(top, { extension: ["2a0305", "0500"] })])).toBe(true);
  });
});

test("a PKCS #7 container is refused with a command that converts it", () => {
  const { leaf: own, middle, root: top } = soundChain();
  const path = join(folder, "given.pem");
  writeFileSync(path, bundleOf(own, middle));
  const container = execFileSync("openssl", ["crl2pkcs7", "-nocrl", "-certfile", path], { encoding: "utf8" });
  const read = (chain: string): unknown =>
    readCertificates("certificates", { chain, trustAnchors: top.pem }, { keyId: "k", publicKey: own.jwk }).x5c;
  const [command = ""] = /openssl pkcs7 .*$/.exec(messageOf(() => read(container))) ?? [];
  expect(read(execFileSync("sh", ["-c", command], { input: container, encoding: "utf8" }))).toHaveLength(2);
});

function messageOf(work: () => unknown): string {
  try {
    work();
    return "";
  } catch (error) {
    return (error as Error).message;
  }
}

/** Mostly sound, so that a chain has one or two faults. */
function rarely<T>(fault: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.oneof({ weight: 15, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fault });
}

const made = new Map<string, Pair>();
/** Each CA has another key than the one above it, since openssl leaves out what a path does not need, and we check it. */
function keyOf(kind: "p256" | "p384" | "rsa" | "ed25519", level: number): Pair {
  const name = `${kind} ${level}`;
  const key = made.get(name) ?? { p256: newP256, p384: newP384, rsa: newRsa, ed25519: newEd25519 }[kind]();
  made.set(name, key);
  return key;
}

const plans = fc.record({
  kind: fc.constantFrom("p256" as const, "p384" as const, "rsa" as const, "ed25519" as const),
  ca: rarely(fc.constantFrom<false | "none">(false, "none")),
  pathLength: fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined }),
  keyUsage: rarely(fc.constantFrom<number | "none">(KEY_USAGE.digitalSignature, KEY_USAGE.keyAgreement, "none")),
  unknown: rarely(fc.constantFrom<"critical" | "other">("critical", "other")),
  hash: rarely(fc.constantFrom<"sha1" | "sha384">("sha1", "sha384")),
  until: rarely(fc.constant(-0.5)),
  from: rarely(fc.constant(0.5)),
  signedBy: rarely(fc.constant(OTHER)),
  // An issuer that has the same name as its issuer does not count for pathLen.
  isSelfIssued: rarely(fc.constant(true)),
});

test("ours and openssl agree about random chains", () => {
  let accepted = 0;
  const property = fc.property(fc.array(plans, { minLength: 1, maxLength: 4 }), plans, (issuers, last) => {
    let above: Issued | undefined;
    const path: Issued[] = [];
    for (const [index, { isSelfIssued, kind, ...plan }] of issuers.entries()) {
      const name = isSelfIssued === true && above !== undefined ? above.plan.name : `CA ${index}`;
      const given = Object.fromEntries(Object.entries(plan).filter(([, value]) => value !== undefined));
      const anchor = above === undefined && plan.ca === "none" ? { ca: false } : {};
      above = issue({ name, ...given, ...anchor, key: keyOf(kind, index), issuer: above });
      path.unshift(above);
    }
    const { until, from, hash, unknown, signedBy } = last;
    const given = Object.fromEntries(
      Object.entries({ until, from, hash, unknown, signedBy }).filter(([, value]) => value !== undefined),
    );
    const chain = [leaf(above, given), ...path.slice(0, -1)];
    const anchor = path.at(-1);
    if (anchor === undefined) throw new Error("expected a root");
    const verdict = opensslAccepts(chain, anchor);
    accepted += verdict ? 1 : 0;
    expect(weAccept(chain, anchor)).toBe(verdict);
  });
  fc.assert(property, { numRuns: 60 });
  expect(accepted).toBeGreaterThan(0);
});
