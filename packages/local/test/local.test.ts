import { execFileSync } from "node:child_process";
import { createHash, createPublicKey, generateKeyPairSync, type JsonWebKey, verify } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ConfigurationError, openSigner, type Signer, SignerError } from "@signpost/core";
import { local, type LocalSignerOptions, openLocalSigner } from "@signpost/local";

const INPUT = Buffer.from("signing input");
const DIGEST = createHash("sha256").update(INPUT).digest();
const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
const publicJwk = pair.publicKey.export({ format: "jwk" });
const other = generateKeyPairSync("ec", { namedCurve: "P-256" });
const otherD = other.privateKey.export({ format: "jwk" }).d;

/** SEC1 (RFC 5915): the public key is the last field, 65 bytes of an uncompressed point. */
function pemOfTwoKeys(): string {
  const der = pair.privateKey.export({ type: "sec1", format: "der" });
  const { x = "", y = "" } = other.publicKey.export({ format: "jwk" });
  der.set(Buffer.concat([Buffer.from(x, "base64url"), Buffer.from(y, "base64url")]), der.length - 64);
  return `-----BEGIN EC PRIVATE KEY-----\n${der.toString("base64")}\n-----END EC PRIVATE KEY-----\n`;
}

function verifies(signer: Signer, signature: Uint8Array): boolean {
  const key = createPublicKey({ key: { ...signer.publicKey }, format: "jwk" });
  return verify("sha256", INPUT, { key, dsaEncoding: "ieee-p1363" }, signature);
}

describe("the key", () => {
  test.each<[string, NonNullable<LocalSignerOptions["privateKey"]>]>([
    ["a KeyObject", pair.privateKey],
    ["a JWK", pair.privateKey.export({ format: "jwk" })],
    ["PKCS#8 PEM", pair.privateKey.export({ type: "pkcs8", format: "pem" }) as string],
    ["SEC1 PEM", pair.privateKey.export({ type: "sec1", format: "pem" }) as string],
  ])("may be %s", async (_name, privateKey) => {
    const signer = await openLocalSigner({ privateKey });
    expect(signer.publicKey).toEqual({ kty: "EC", crv: "P-256", x: publicJwk.x, y: publicJwk.y });
    expect(verifies(signer, await signer.sign(DIGEST))).toBe(true);
  });

  test("is a new one each time when none is given", async () => {
    const [a, b] = await Promise.all([openLocalSigner(), openLocalSigner()]);
    expect(a.publicKey.x).not.toBe(b.publicKey.x);
    expect(a.uri).not.toBe(b.uri);
  });

  test.each([
    ["P-384", generateKeyPairSync("ec", { namedCurve: "P-384" }).privateKey, "ec secp384r1"],
    ["secp256k1", generateKeyPairSync("ec", { namedCurve: "secp256k1" }).privateKey, "ec secp256k1"],
    ["RSA", generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey, "rsa"],
    ["Ed25519", generateKeyPairSync("ed25519").privateKey, "ed25519"],
  ])("on %s is unsupported_key, saying what was found", async (_name, privateKey, found) => {
    const error = await openLocalSigner({ privateKey }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(SignerError);
    expect(error).toMatchObject({ code: "unsupported_key", message: expect.stringContaining(found) });
  });

  test.each<[string, unknown]>([
    ["a public KeyObject", pair.publicKey],
    ["a public JWK", publicJwk],
    ["a public PEM", pair.publicKey.export({ type: "spki", format: "pem" })],
    [
      "an encrypted PEM",
      pair.privateKey.export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "x" }),
    ],
    ["text", "secret"],
    [
      "a JWK whose d is above the order of the group",
      { ...pair.privateKey.export({ format: "jwk" }), d: Buffer.alloc(33, 0xff).toString("base64url") },
    ],
    ["a JWK whose d is of another key", { ...pair.privateKey.export({ format: "jwk" }), d: otherD }],
    ["a PEM file whose public half is of another key", pemOfTwoKeys()],
    ["a JWK with a wrong point", { ...pair.privateKey.export({ format: "jwk" }), y: publicJwk.x }],
  ])("that is %s is refused without repeating it", async (_name, privateKey) => {
    const error = await openLocalSigner({ privateKey: privateKey as JsonWebKey }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error).toMatchObject({ argument: "privateKey" });
    expect(String(error)).not.toContain("secret");
  });
});

describe("a signature", () => {
  test("is over the digest when no signing input comes along", async () => {
    const signer = await openLocalSigner({ policy: false });
    expect(verifies(signer, await signer.sign(DIGEST))).toBe(true);
  });

  test("is over the digest when the signing input fits it", async () => {
    const signer = await openLocalSigner({ policy: false });
    expect(verifies(signer, await signer.sign(DIGEST, { signingInput: INPUT }))).toBe(true);
  });

  test("is over the digest when the signing input does not fit it", async () => {
    const signer = await openLocalSigner({ policy: false });
    expect(verifies(signer, await signer.sign(DIGEST, { signingInput: Buffer.from("another") }))).toBe(true);
  });
});

describe("key URIs", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "signpost-local-"));
    await writeFile(join(folder, "Key %41.pem"), pair.privateKey.export({ type: "pkcs8", format: "pem" }));
    await writeFile(join(folder, "broken.pem"), "secret");
  });
  afterAll(() => rm(folder, { recursive: true }));

  test("local:path opens the PEM file at exactly that path", async () => {
    const uri = `local:${join(folder, "Key %41.pem")}`;
    const signer = await openSigner(uri, [local()]);
    expect(signer.uri).toBe(uri);
    expect(signer.publicKey.x).toBe(publicJwk.x);
  });

  test("LOCAL: is local:, and the path keeps its case", async () => {
    const path = join(folder, "Key %41.pem");
    const signer = await local().open(`LOCAL:${path}`, { policy: false });
    expect(signer.uri).toBe(`local:${path}`);
    await signer.close();
  });

  test("local: alone creates a new key", async () => {
    const signer = await openSigner("local:", [local()]);
    expect(verifies(signer, await signer.sign(DIGEST))).toBe(true);
  });

  test.each(["missing.pem", "broken.pem", "."])("local:%s is refused", async (name) => {
    const error = await openSigner(`local:${join(folder, name)}`, [local()]).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(String(error)).not.toContain("secret");
  });

  test("local: refuses a file that may never answer or never end, and does not wait for it", async () => {
    const fifo = join(folder, "fifo");
    execFileSync("mkfifo", [fifo]);
    for (const path of [fifo, "/dev/zero", "/dev/tty"]) {
      await expect(openSigner(`local:${path}`, [local()])).rejects.toBeInstanceOf(ConfigurationError);
    }
    await writeFile(join(folder, "long.pem"), "A".repeat(65_537));
    await expect(openSigner(`local:${join(folder, "long.pem")}`, [local()])).rejects.toThrow(/at most 65536 bytes/);
  });

  test("local: reads a file of 64 KiB", async () => {
    const pem = pair.privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    await writeFile(join(folder, "padded.pem"), pem.padEnd(65_536, "\n"));
    const signer = await openSigner(`local:${join(folder, "padded.pem")}`, [local()]);
    expect(signer.publicKey.x).toBe(publicJwk.x);
  });

  test.each(["Key %41.pem", ""])("an opening of local:%s that was aborted is aborted", async (name) => {
    const uri = `local:${name === "" ? "" : join(folder, name)}`;
    const opening = openSigner(uri, [local()], { signal: AbortSignal.abort() });
    await expect(opening).rejects.toMatchObject({ code: "aborted" });
  });

  test("a key that is passed instead of its path appears in no error", async () => {
    const pem = pair.privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    const body = pem.split("\n")[1] ?? "";
    for (const uri of [`local:${pem}`, `local:${body}`, `local:${JSON.stringify({ d: otherD })}`]) {
      const error: unknown = await openSigner(uri, [local()]).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(ConfigurationError);
      const text = inspect(error, { depth: 20, showHidden: true });
      expect(text).not.toContain(body);
      expect(text).not.toContain(otherD);
    }
  });

  test("the adapter opens bare signers for failover", async () => {
    const signer = await local().open("local:", { policy: false });
    expect("health" in signer).toBe(false);
  });
});
