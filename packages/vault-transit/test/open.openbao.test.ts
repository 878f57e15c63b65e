import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createKeySet, type GuardedSigner, openSigner, signWith } from "@signpost/core";
import {
  openVaultTransitSigner,
  vaultTransit,
  vaultTransitKeys,
  type VaultTransitSignerOptions,
} from "@signpost/vault-transit";
import { OPENBAO_SERVER_NAME, startOpenbao, type Openbao } from "@signpost/test-backends/openbao";
import { selfSignedCertificate } from "@signpost/test-backends/self-signed";
import { createKey, createToken, opPolicy, writePolicy } from "./support/server.ts";
import { rejection, signsTruly } from "./support/signatures.ts";

let server: Openbao;
const optionsFor = (key: string): Pick<VaultTransitSignerOptions, "address" | "key" | "auth"> => ({
  address: server.address,
  key,
  auth: { method: "token", token: server.token },
});

beforeAll(async () => {
  server = await startOpenbao();
});
afterAll(() => server.stop());

describe("a version of a key", () => {
  test("signs, and is named by the URI", async () => {
    await createKey(server, "transit/keys/plain");
    await using signer = await openVaultTransitSigner({ ...optionsFor("plain"), keyVersion: 1 });
    expect(await signsTruly(signer)).toBe(true);
    expect(signer.uri).toBe("vault:///transit/keys/plain?version=1");
    expect(signer.health().notes).toEqual([]);
  });

  test("is the latest one without an option, and stays that after a rotation", async () => {
    await createKey(server, "transit/keys/rotated");
    await server.must("POST", "transit/keys/rotated/rotate");
    await using signer = await openVaultTransitSigner(optionsFor("rotated"));
    expect(signer.uri).toBe("vault:///transit/keys/rotated?version=2");
    await server.must("POST", "transit/keys/rotated/rotate");
    expect(await signsTruly(signer)).toBe(true);
    await using first = await openVaultTransitSigner({ ...optionsFor("rotated"), keyVersion: 1 });
    expect(first.publicKey).not.toEqual(signer.publicKey);
    expect(await signsTruly(first)).toBe(true);
  });

  test("opens from a key URI, and the signer's URI opens the same version", async () => {
    await createKey(server, "transit/keys/by-uri");
    const adapter = vaultTransit({ address: server.address, auth: { method: "token", token: server.token } });
    await using first = await openSigner("vault:///transit/keys/by-uri", [adapter]);
    expect(first.uri).toBe("vault:///transit/keys/by-uri?version=1");
    await server.must("POST", "transit/keys/by-uri/rotate");
    await using again = await openSigner(first.uri, [adapter]);
    expect(again.publicKey).toEqual(first.publicKey);
    expect(await signsTruly(again)).toBe(true);
  });

  test('is verified with verify: "first" each time, since another key may have its name by then', async () => {
    await createKey(server, "transit/keys/again");
    await using signer = await openVaultTransitSigner(optionsFor("again"));
    const { active } = createKeySet([{ signer }]);
    const input = new TextEncoder().encode("header.payload");
    await signWith(active, input, { verify: "first" });
    await server.must("POST", "transit/keys/again/config", { deletion_allowed: true });
    await server.must("DELETE", "transit/keys/again");
    await createKey(server, "transit/keys/again");
    const error = await rejection(signWith(active, input, { verify: "first" }));
    expect(error).toMatchObject({ code: "bad_signature", uri: signer.uri });
    expect(signer.health().status).toBe("down");
  });

  test("needs no call with its public key, and is proven by the first signature", async () => {
    await createKey(server, "transit/keys/pinned");
    const { publicKey } = await openVaultTransitSigner(optionsFor("pinned"));
    await server.seal();
    const signer = await openVaultTransitSigner({ ...optionsFor("pinned"), keyVersion: 1, publicKey });
    await server.unseal();
    expect(await signsTruly(signer)).toBe(true);
    await signer.close();
  });

  test("needs only the two rights of the guide", async () => {
    await createKey(server, "transit/keys/op");
    await writePolicy(server, "op", opPolicy());
    const token = await createToken(server, "op");
    await using signer = await openVaultTransitSigner({ ...optionsFor("op"), auth: { method: "token", token } });
    expect(await signsTruly(signer)).toBe(true);
  });
});

describe("a mount", () => {
  test("may have several segments, and one that is called keys", async () => {
    await server.must("POST", "sys/mounts/team/keys/signing", { type: "transit" });
    await createKey(server, "team/keys/signing/keys/op.2026-11");
    await using signer = await openVaultTransitSigner({ ...optionsFor("op.2026-11"), mount: "team/keys/signing" });
    expect(await signsTruly(signer)).toBe(true);
    const adapter = vaultTransit({ address: server.address, auth: { method: "token", token: server.token } });
    await using byUri = await openSigner(signer.uri, [adapter]);
    expect(byUri.publicKey).toEqual(signer.publicKey);
  });

  test("that is not there, or is not a Transit engine, is a key that is not found", async () => {
    const missing = await rejection(openVaultTransitSigner({ ...optionsFor("op"), mount: "nowhere" }));
    expect(missing).toMatchObject({ code: "key_not_found", uri: "vault:///nowhere/keys/op" });
    expect(String(missing)).toContain("nothing is mounted there");
    await server.must("POST", "sys/mounts/secret", { type: "kv" });
    const other = await rejection(openVaultTransitSigner({ ...optionsFor("op"), mount: "secret" }));
    expect(other).toMatchObject({ code: "key_not_found" });
  });
});

describe("a key is refused, with the reason,", () => {
  const refused = async (key: string, options: object = {}): Promise<{ code: string; text: string }> => {
    const startedAt = performance.now();
    const error = await rejection(openVaultTransitSigner({ ...optionsFor(key), ...options }));
    // Not tried again.
    expect(performance.now() - startedAt).toBeLessThan(2000);
    return { code: (error as { code: string }).code, text: String(error) };
  };

  test.each(["rsa-2048", "ed25519", "ecdsa-p384", "aes256-gcm96"])("if its type is %s", async (type) => {
    await createKey(server, `transit/keys/of-${type}`, { type });
    const { code, text } = await refused(`of-${type}`);
    expect(code).toBe("unsupported_key");
    expect(text).toContain(`has the type ${type}, expected ecdsa-p256`);
  });

  test("if it is not there", async () => {
    const { code, text } = await refused("missing");
    expect(code).toBe("key_not_found");
    expect(text).toContain("there is no such key");
  });

  test("if the version is not there yet", async () => {
    await createKey(server, "transit/keys/young");
    const { code, text } = await refused("young", { keyVersion: 2 });
    expect(code).toBe("key_not_found");
    expect(text).toContain("there is no version 2; the latest is 1");
  });

  test("if the version is below one of its limits", async () => {
    await createKey(server, "transit/keys/old");
    for (let count = 0; count < 3; count += 1) await server.must("POST", "transit/keys/old/rotate");
    await server.must("POST", "transit/keys/old/config", { min_encryption_version: 4 });
    const encryption = await refused("old", { keyVersion: 3 });
    expect(encryption.code).toBe("key_disabled");
    expect(encryption.text).toContain("version 3 is below min_encryption_version, 4");
    await server.must("POST", "transit/keys/old/config", { min_decryption_version: 3 });
    const decryption = await refused("old", { keyVersion: 2 });
    expect(decryption.code).toBe("key_disabled");
    expect(decryption.text).toContain("version 2 is below min_decryption_version, 3");
    await server.must("POST", "transit/keys/old/trim", { min_available_version: 2 });
    const available = await refused("old", { keyVersion: 1 });
    expect(available.code).toBe("key_not_found");
    expect(available.text).toContain("version 1 is below min_available_version, 2");
  });

  test("if it is soft-deleted", async () => {
    await createKey(server, "transit/keys/deleted");
    await server.must("DELETE", "transit/keys/deleted/soft-delete");
    const { code, text } = await refused("deleted");
    expect(code).toBe("key_disabled");
    expect(text).toContain("soft-deleted");
  });

  test("if it was imported with its public half only", async () => {
    const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const pem = publicKey.export({ type: "spki", format: "pem" });
    await server.must("POST", "transit/keys/half/import", { type: "ecdsa-p256", public_key: pem });
    const { code, text } = await refused("half");
    expect(code).toBe("unsupported_key");
    expect(text).toContain("public half only");
  });

  test("if the token may not read it", async () => {
    await createKey(server, "transit/keys/secret");
    const token = await createToken(server, "default");
    const { code, text } = await refused("secret", { auth: { method: "token", token } });
    expect(code).toBe("access_denied");
    expect(text).not.toContain(token);
  });
});

test("health notes say what a setting of the key means for a signing key", async () => {
  await createKey(server, "transit/keys/noted", {
    exportable: true,
    allow_plaintext_backup: true,
    auto_rotate_period: "24h",
  });
  await server.must("POST", "transit/keys/noted/config", { deletion_allowed: true });
  await using signer = await openVaultTransitSigner(optionsFor("noted"));
  expect(signer.health().notes).toEqual([
    expect.stringMatching(/^exportable: the private key can be read/),
    expect.stringMatching(/^allow_plaintext_backup: the private key can be read/),
    expect.stringMatching(/^deletion_allowed: one call can delete the key/),
    expect.stringMatching(/^auto_rotate_period 86400: the server makes new versions by itself/),
  ]);
});

describe("a namespace", () => {
  test("is sent with every call", async () => {
    await server.must("POST", "sys/namespaces/org");
    await server.must("POST", "sys/mounts/transit", { type: "transit" }, { namespace: "org" });
    await server.must("POST", "transit/keys/theirs", { type: "ecdsa-p256" }, { namespace: "org" });
    await using signer = await openVaultTransitSigner({ ...optionsFor("theirs"), namespace: "org/" });
    expect(await signsTruly(signer)).toBe(true);
    expect(await rejection(openVaultTransitSigner(optionsFor("theirs")))).toMatchObject({ code: "key_not_found" });
  });

  test("that is not there is named as the reason", async () => {
    const error = await rejection(openVaultTransitSigner({ ...optionsFor("theirs"), namespace: "missing" }));
    expect(error).toMatchObject({ code: "key_not_found" });
    expect(String(error)).toContain("there is no such namespace");
  });

  test("is in the messages, since each may have a key of this name", async () => {
    const error = await rejection(openVaultTransitSigner({ ...optionsFor("nowhere"), namespace: "org" }));
    expect(String(error)).toContain(
      `cannot read transit/keys/nowhere at ${server.address} in the namespace org: there is no such key`,
    );
    const auth = { method: "approle", roleId: "r", secretId: "s", namespace: "root" } as const;
    const refusal = await rejection(openVaultTransitSigner({ ...optionsFor("nowhere"), namespace: "org", auth }));
    expect(String(refusal)).toContain(`cannot log in with auth/approle at ${server.address} in the namespace root: `);
  });

  test("of the environment is in the health, with the address", async () => {
    await createKey(server, "transit/keys/environment");
    await server.must("POST", "transit/keys/environment", { type: "ecdsa-p256" }, { namespace: "org" });
    const { key, auth } = optionsFor("environment");
    vi.stubEnv("VAULT_ADDR", server.address);
    vi.stubEnv("BAO_NAMESPACE", "org");
    await using signer = await openVaultTransitSigner({ key, auth });
    await using keys = await vaultTransitKeys({ key, auth });
    const notes = [`address ${server.address}, from VAULT_ADDR`, "namespace org, from BAO_NAMESPACE"];
    expect(signer.health().notes).toEqual(notes);
    for (const version of keys.versions) {
      expect("signer" in version && (version.signer as GuardedSigner).health().notes).toEqual(notes);
    }
    vi.unstubAllEnvs();
  });
});

describe("TLS", () => {
  let secure: Openbao;
  beforeAll(async () => {
    secure = await startOpenbao({ tls: true });
    await createKey(secure, "transit/keys/op");
  });
  afterAll(() => secure.stop());

  const open = (tls: object | undefined): ReturnType<typeof openVaultTransitSigner> =>
    openVaultTransitSigner({
      address: secure.address,
      key: "op",
      auth: { method: "token", token: secure.token },
      policy: { maxAttempts: 1 },
      ...(tls !== undefined && { tls }),
    });

  test("signs with a CA file, a client certificate and the server's name", async () => {
    const signer = await open({ ...secure.tls, serverName: OPENBAO_SERVER_NAME });
    expect(await signsTruly(signer)).toBe(true);
    await signer.close();
  });

  test("and everything else can come from the environment", async () => {
    vi.stubEnv("VAULT_ADDR", secure.address);
    vi.stubEnv("VAULT_TOKEN", secure.token);
    vi.stubEnv("VAULT_CACERT", secure.tls?.caFile);
    vi.stubEnv("BAO_CLIENT_CERT", secure.tls?.certFile);
    vi.stubEnv("BAO_CLIENT_KEY", secure.tls?.keyFile);
    vi.stubEnv("VAULT_TLS_SERVER_NAME", OPENBAO_SERVER_NAME);
    await using signer = await openVaultTransitSigner({ key: "op" });
    vi.unstubAllEnvs();
    expect(await signsTruly(signer)).toBe(true);
  });

  test("reads the files again for each new connection", async () => {
    const folder = await mkdtemp(join(tmpdir(), "signpost-vault-tls-"));
    const caFile = join(folder, "ca.pem");
    const good = await readFile(secure.tls?.caFile ?? "", "utf8");
    await writeFile(caFile, good);
    const signer = await open({ ...secure.tls, caFile, serverName: OPENBAO_SERVER_NAME });
    let now = Date.now();
    // Idle for so long, a connection is not used again.
    const clock = vi.spyOn(Date, "now").mockImplementation(() => (now += 20_001));
    await writeFile(caFile, selfSignedCertificate(OPENBAO_SERVER_NAME).cert);
    expect(await rejection(signer.sign(new Uint8Array(32)))).toMatchObject({ code: "unavailable" });
    await writeFile(caFile, "");
    expect(await rejection(signer.sign(new Uint8Array(32)))).toMatchObject({ code: "unavailable" });
    await writeFile(caFile, good);
    expect(await signsTruly(signer)).toBe(true);
    clock.mockRestore();
    await signer.close();
    await rm(folder, { recursive: true });
  });

  test.each<[what: string, tls: () => object | undefined, code: RegExp]>([
    ["without a CA file", () => undefined, /DEPTH_ZERO_SELF_SIGNED_CERT/],
    ["with another name", () => ({ ...secure.tls, serverName: "other.test" }), /ERR_TLS_CERT_ALTNAME_INVALID/],
    [
      "without a client certificate",
      () => ({ caFile: secure.tls?.caFile, serverName: OPENBAO_SERVER_NAME }),
      /ERR_SSL_|ECONNRESET|UND_ERR_SOCKET/,
    ],
  ])("%s, the server is unavailable", async (_what, tls, code) => {
    const error = await rejection(open(tls()));
    expect(error).toMatchObject({ name: "SignerError", code: "unavailable" });
    expect(String(error)).toMatch(code);
  });

  test("files that do not belong together are refused at once, and nothing is sent", async () => {
    const folder = await mkdtemp(join(tmpdir(), "signpost-vault-tls-"));
    const keyFile = join(folder, "other.key");
    const other = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
    const encrypted = { type: "pkcs8", format: "pem", cipher: "aes256", passphrase: "secret" } as const;
    const tls = { ...secure.tls, serverName: OPENBAO_SERVER_NAME };
    for (const pem of [other.export({ type: "pkcs8", format: "pem" }), other.export(encrypted)]) {
      await writeFile(keyFile, pem);
      const error = await rejection(open({ ...tls, keyFile }));
      expect(error).toMatchObject({ name: "ConfigurationError", argument: "tls.keyFile" });
      expect(String(error)).toContain("expected the unencrypted private key of the certificate in tls.certFile");
    }
    await writeFile(keyFile, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    expect(await rejection(open({ ...tls, certFile: keyFile }))).toMatchObject({ argument: "tls.certFile" });
    await rm(folder, { recursive: true });
  });
});
