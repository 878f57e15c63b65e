import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openPkcs11Signer, pkcs11Certificates, type Pkcs11CertificatesOptions } from "@signpost/pkcs11";
import { startSoftHsm, type GeneratedKey, type SoftHsm } from "@signpost/test-backends/softhsm";
import { createTestAuthority, type IssuedCertificate, type TestAuthority } from "./support/test-authority.ts";

let hsm: SoftHsm;
let authority: TestAuthority;
let key: GeneratedKey;
let bareKey: KeyObject;
let leaf: IssuedCertificate;
let renewed: IssuedCertificate;
let stranger: IssuedCertificate;

beforeAll(async () => {
  [hsm, authority] = await Promise.all([startSoftHsm(), createTestAuthority()]);
  key = await hsm.generateKey({ label: "sig", id: "0a" });
  const bare = await hsm.generateKey({ label: "bare", id: "0b" });
  bareKey = bare.publicKey;
  const other = generateKeyPairSync("ec", { namedCurve: "P-256" });
  leaf = await authority.issue("leaf", key.publicKey, 10);
  renewed = await authority.issue("renewed", key.publicKey, 20);
  stranger = await authority.issue("stranger", other.publicKey);
  await write(leaf, "leaf", "0a");
  await write(authority.root, "root", "c1");
  await write(renewed, "renewed", "0a");
  await write(authority.issuing, "issuing", "c2");
  // The id of another key's certificate proves nothing.
  await write(stranger, "stranger", "0b");
});

afterAll(async () => {
  await authority[Symbol.asyncDispose]();
  await hsm.stop();
});

function write({ file }: IssuedCertificate, label: string, id: string): Promise<string> {
  return hsm.pkcs11Tool("--write-object", file, "--type", "cert", "--label", label, "--id", id);
}

async function namesOf(options: Partial<Pkcs11CertificatesOptions>): Promise<readonly (readonly string[])[]> {
  const chains = await pkcs11Certificates({ module: hsm.module, token: hsm.tokenLabel, ...options });
  return chains.map((chain) => chain.map(({ label }) => label));
}

const WITH_ISSUERS = ["issuing", "root"];

describe.each(["thread", "process"] as const)("isolation %s", (isolation) => {
  test("the chains of a key are found without a PIN, leaf first, and the one that is valid longest first", async () => {
    const jwk = key.publicKey.export({ format: "jwk" }) as { kty: string };
    expect(await namesOf({ isolation, publicKey: jwk })).toEqual([
      ["renewed", ...WITH_ISSUERS],
      ["leaf", ...WITH_ISSUERS],
    ]);
    const [chain = []] = await pkcs11Certificates({
      module: hsm.module,
      token: hsm.tokenLabel,
      publicKey: jwk,
      isolation,
    });
    expect(chain.map(({ der }) => Buffer.from(der).toString("hex"))).toEqual(
      [renewed, authority.issuing, authority.root].map(({ x509 }) => x509.raw.toString("hex")),
    );
    expect(chain[0]?.pem).toBe(renewed.x509.toString());
    expect(chain[0]?.id).toEqual(Uint8Array.of(0x0a));
  });

  test("next to an open signer, by the signer's own URI, and the signer goes on", async () => {
    const options = { module: hsm.module, token: hsm.tokenLabel, object: "sig", pin: hsm.pin, isolation };
    await using signer = await openPkcs11Signer(options);
    const chains = await pkcs11Certificates({ uri: signer.uri, publicKey: signer.publicKey, isolation });
    expect(chains.map((chain) => chain[0]?.label)).toEqual(["renewed", "leaf"]);
    expect(await signer.sign(Buffer.alloc(32, 1))).toHaveLength(64);
  });

  test("a token that is not there is an error, and no certificate is none", async () => {
    await expect(namesOf({ isolation, token: "away" })).rejects.toMatchObject({
      code: "key_not_found",
      uri: expect.stringContaining("token=away") as string,
    });
    expect(await namesOf({ isolation, id: Uint8Array.of(0x0e) })).toEqual([]);
  });
});

test("without a key, each certificate that issued none of the others is a leaf", async () => {
  expect((await namesOf({})).map(([first]) => first)).toEqual(["stranger", "renewed", "leaf"]);
});

test("by id, by the label of the key, and by the label of the certificate", async () => {
  const leaves = async (options: Partial<Pkcs11CertificatesOptions>): Promise<readonly (string | undefined)[]> =>
    (await namesOf(options)).map(([first]) => first);
  expect(await leaves({ id: Uint8Array.of(0x0a) })).toEqual(["renewed", "leaf"]);
  expect(await leaves({ object: "sig" })).toEqual(["renewed", "leaf"]);
  expect(await leaves({ object: "leaf" })).toEqual(["leaf"]);
  expect(await leaves({ object: "issuing" })).toEqual(["issuing"]);
  expect(await leaves({ object: "leaf", id: Uint8Array.of(0x0b) })).toEqual([]);
});

test("the public key decides, if it is known: the certificate of another key with the same id is not offered", async () => {
  expect(await namesOf({ id: Uint8Array.of(0x0b) })).toEqual([["stranger", ...WITH_ISSUERS]]);
  const publicKey = bareKey.export({ type: "spki", format: "pem" }).toString();
  expect(await namesOf({ id: Uint8Array.of(0x0b), publicKey })).toEqual([]);
});

test("a certificate that is no longer valid comes last", async () => {
  const ended = await authority.issue("ended", key.publicKey, -1);
  await write(ended, "ended", "0a");
  const jwk = key.publicKey.export({ type: "spki", format: "pem" }).toString();
  expect((await namesOf({ publicKey: jwk })).map(([first]) => first)).toEqual(["renewed", "leaf", "ended"]);
});

test("an object that is no certificate is skipped", async () => {
  const broken = `${hsm.directory}/broken.der`;
  await writeFile(broken, Buffer.concat([leaf.x509.raw.subarray(0, -4), Buffer.from("ffff", "hex")]));
  await hsm.pkcs11Tool("--write-object", broken, "--type", "cert", "--label", "broken", "--id", "0d").catch(() => "");
  expect(await namesOf({ id: Uint8Array.of(0x0d) })).toEqual([]);
});

test("a certificate whose kind of key is not known hides no other", async () => {
  const unknown = Buffer.from(stranger.x509.raw);
  const idEcPublicKey = Buffer.from("06072a8648ce3d0201", "hex");
  unknown[unknown.indexOf(idEcPublicKey) + idEcPublicKey.length - 1] = 0x7f;
  const file = `${hsm.directory}/unknown.der`;
  await writeFile(file, unknown);
  await hsm.pkcs11Tool("--write-object", file, "--type", "cert", "--label", "unknown", "--id", "0f");
  expect((await namesOf({ id: Uint8Array.of(0x0f) })).map(([first]) => first)).toEqual(["unknown"]);
  const publicKey = key.publicKey.export({ type: "spki", format: "pem" }).toString();
  expect((await namesOf({ publicKey })).map(([first]) => first)).toEqual(["renewed", "leaf", "ended"]);
});
