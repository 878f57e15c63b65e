import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { ConfigurationError } from "@signpost/core";
import {
  openVaultTransitSigner,
  vaultTransit,
  vaultTransitKeys,
  type VaultTransitSignerOptions,
} from "@signpost/vault-transit";
import { readConnectionOptions } from "../src/client.ts";
import { rejection } from "./support/signatures.ts";

const SECRET = "hvs.CAESIJ-secret-secret-secret";
const OPTIONS = { address: "https://vault.example:8200", key: "op", auth: { method: "none" } } as const;

afterEach(() => {
  vi.unstubAllEnvs();
});

describe("an option is refused by name, and never shown if it can be a secret:", () => {
  const dispatcher = { request: () => Promise.reject(new Error("not reached")) };
  test.each<[argument: string, options: object]>([
    ["key", { key: undefined }],
    ["key", { key: "a/b" }],
    ["key", { key: "../op" }],
    ["key", { key: ["op"] }],
    ["key", { key: 7 }],
    ["keyVersion", { keyVersion: 0 }],
    ["keyVersion", { keyVersion: 1.5 }],
    ["keyVersion", { keyVersion: "3" }],
    [
      "keyVersion",
      {
        publicKey: {
          kty: "EC",
          crv: "P-256",
          x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
          y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
        },
      },
    ],
    ["mount", { mount: "/transit" }],
    ["mount", { mount: "transit/" }],
    ["mount", { mount: "a//b" }],
    ["mount", { mount: ".." }],
    ["mount", { mount: ["transit"] }],
    ["mount", { mount: 7 }],
    ["namespace", { namespace: "a b" }],
    ["namespace", { namespace: "" }],
    ["address", { address: "vault.example" }],
    ["address", { address: "http://vault.example:8200" }],
    ["address", { address: "https://vault.example/v1" }],
    ["address", { address: `https://user:${SECRET}@vault.example` }],
    ["allowInsecureAddress", { allowInsecureAddress: "yes" }],
    ["clusterAddresses", { clusterAddresses: "https://other.example" }],
    ["clusterAddresses[1]", { clusterAddresses: ["https://a.example", "http://b.example"] }],
    ["auth", { auth: SECRET }],
    ["auth", { auth: { method: "ldap" } }],
    ["auth", { auth: null }],
    ["auth", { auth: Object.assign(() => undefined, { method: "none" }) }],
    ["auth.roleID", { auth: { method: "approle", roleID: "x" } }],
    ["auth.roleId", { auth: { method: "approle" } }],
    ["auth.secretId", { auth: { method: "approle", roleId: "r", secretId: `${SECRET}\n` } }],
    ["auth.secretIdFile", { auth: { method: "approle", roleId: "r", secretId: SECRET, secretIdFile: "/f" } }],
    ["auth.mount", { auth: { method: "approle", roleId: "r", mount: "auth/../sys" } }],
    ["auth.namespace", { auth: { method: "kubernetes", role: "r", namespace: "?" } }],
    ["auth.role", { auth: { method: "kubernetes" } }],
    ["auth.jwtFile", { auth: { method: "kubernetes", role: "r", jwtFile: "" } }],
    ["auth.token", { auth: { method: "token" } }],
    ["auth.token", { auth: { method: "token", token: `${SECRET} ` } }],
    ["auth.path", { auth: { method: "token-file", path: 3 } }],
    ["auth.path", { auth: { method: "none", path: "/f" } }],
    ["tls.cafile", { tls: { cafile: "/f" } }],
    ["tls.caFile", { tls: { caFile: "/there/is/no/such/file" } }],
    ["tls.keyFile", { tls: { certFile: "/f" } }],
    ["tls.certFile", { tls: { keyFile: "/f" } }],
    ["tls.serverName", { tls: { serverName: "" } }],
    ["dispatcher", { dispatcher: {} }],
    ["dispatcher", { dispatcher: null }],
    ["tls", { dispatcher, tls: { serverName: "a" } }],
    ["openDeadlineMs", { openDeadlineMs: 0 }],
    ["adress", { adress: "https://vault.example" }],
  ])("%s in case %#", async (argument, options) => {
    const error = await rejection(openVaultTransitSigner({ ...OPTIONS, ...options } as VaultTransitSignerOptions));
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error).toMatchObject({ argument });
    expect(String(error)).not.toContain(SECRET);
  });

  test("by the adapter when it is made, and by vaultTransitKeys", async () => {
    expect(() => vaultTransit({ address: "http://vault.example" })).toThrow(/^address: /);
    expect(() => vaultTransit({ openDeadlineMs: -1 })).toThrow(/^openDeadlineMs: /);
    expect(() => vaultTransit({ auth: { method: "token", token: "" } })).toThrow(/^auth.token: /);
    expect(await rejection(vaultTransitKeys({ ...OPTIONS, announceHours: 1 }))).toMatchObject({
      argument: "announceHours",
    });
    expect(await rejection(vaultTransitKeys({ ...OPTIONS, pickUpMinutes: -1 }))).toMatchObject({
      argument: "pickUpMinutes",
    });
  });
});

describe("the environment", () => {
  const inForce = (options: object = {}): ReturnType<typeof readConnectionOptions> => readConnectionOptions(options);

  test("gives the address, the token, the namespace and the files", () => {
    vi.stubEnv("VAULT_ADDR", "https://vault.example:8200");
    vi.stubEnv("VAULT_TOKEN", SECRET);
    vi.stubEnv("VAULT_NAMESPACE", "team/");
    vi.stubEnv("VAULT_CACERT", "/ca.pem");
    vi.stubEnv("VAULT_CLIENT_CERT", "/client.pem");
    vi.stubEnv("VAULT_CLIENT_KEY", "/client.key");
    vi.stubEnv("VAULT_TLS_SERVER_NAME", "vault.internal");
    expect(inForce()).toMatchObject({
      address: { url: "https://vault.example:8200" },
      namespace: "team",
      auth: { method: "token", token: SECRET },
      tls: { caFile: "/ca.pem", certFile: "/client.pem", keyFile: "/client.key", serverName: "vault.internal" },
    });
  });

  test("prefers the variables of OpenBao, and skips empty ones", () => {
    vi.stubEnv("VAULT_ADDR", "https://vault.example");
    vi.stubEnv("BAO_ADDR", "https://bao.example");
    vi.stubEnv("BAO_TOKEN", "");
    vi.stubEnv("VAULT_TOKEN", SECRET);
    vi.stubEnv("BAO_CACERT", "/bao.pem");
    expect(inForce()).toMatchObject({
      address: { url: "https://bao.example" },
      auth: { token: SECRET },
      tls: { caFile: "/bao.pem" },
    });
  });

  test("is replaced by options, one by one", () => {
    vi.stubEnv("VAULT_ADDR", "https://vault.example");
    vi.stubEnv("VAULT_TOKEN", SECRET);
    vi.stubEnv("VAULT_CACERT", "/ca.pem");
    const options = { address: "https://other.example", auth: { method: "none" }, tls: { serverName: "a" } };
    expect(inForce(options)).toMatchObject({
      address: { url: "https://other.example" },
      auth: { method: "none" },
      tls: { caFile: "/ca.pem", serverName: "a" },
    });
  });

  test.each([
    ["VAULT_ADDR", "http://vault.example", "VAULT_ADDR"],
    ["BAO_ADDR", "vault.example", "BAO_ADDR"],
    ["VAULT_NAMESPACE", "a b", "VAULT_NAMESPACE"],
    ["VAULT_TOKEN", `${SECRET}\n`, "VAULT_TOKEN"],
    ["VAULT_CLIENT_CERT", "/f", "tls.keyFile"],
  ])("a bad %s is named", (name, value, argument) => {
    vi.stubEnv("VAULT_TOKEN", SECRET);
    vi.stubEnv("VAULT_ADDR", "https://vault.example");
    vi.stubEnv(name, value);
    expect(inForce).toThrow(expect.objectContaining({ argument }));
    expect(inForce).not.toThrow(SECRET);
  });

  test("a file for TLS that is bad is named together with its variable", async () => {
    vi.stubEnv("VAULT_CACERT", "/there/is/no/such/file");
    const error = await rejection(openVaultTransitSigner(OPTIONS));
    expect(error).toMatchObject({ argument: "tls.caFile" });
    expect(String(error)).toMatch(/VAULT_CACERT.*ENOENT/);
    vi.stubEnv("BAO_CACERT", import.meta.filename);
    expect(String(await rejection(openVaultTransitSigner(OPTIONS)))).toMatch(/PEM file.*BAO_CACERT/);
  });

  test("without an address or a token, the options are asked for", () => {
    for (const name of ["VAULT_ADDR", "BAO_ADDR", "VAULT_TOKEN", "BAO_TOKEN"]) vi.stubEnv(name, "");
    expect(() => inForce({ auth: { method: "none" } })).toThrow(/^address: .*VAULT_ADDR/);
    expect(() => inForce({ address: "https://vault.example" })).toThrow(/^auth: .*VAULT_TOKEN/);
  });

  test("plain http is accepted on the loopback interface, and elsewhere only if it is allowed by name", () => {
    const auth = { method: "none" };
    expect(inForce({ auth, address: "http://127.0.0.1:8200" }).address.plaintext).toBe(true);
    expect(inForce({ auth, address: "http://vault:8200", allowInsecureAddress: true }).address.plaintext).toBe(true);
    vi.stubEnv("VAULT_ADDR", "http://vault:8200");
    expect(() => inForce({ auth })).toThrow(/^VAULT_ADDR: .*, or allowInsecureAddress: true, got http:\/\/vault:8200$/);
    const elsewhere = { auth, address: "https://vault:8200", clusterAddresses: ["http://node:8200"] };
    expect(() => inForce(elsewhere)).toThrow(/^clusterAddresses\[0\]: .*, or allowInsecureAddress: true, got http:/);
  });
});

test("a CA file without a certificate that can be read is refused, because TLS would ignore it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "signpost-vault-ca-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const caFile = join(folder, "ca.pem");
  await writeFile(caFile, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
  const error = await rejection(openVaultTransitSigner({ ...OPTIONS, tls: { caFile } }));
  expect(error).toMatchObject({ name: "ConfigurationError", argument: "tls.caFile" });
});

test.each([
  ["caFile", ""],
  ["certFile", 7],
  ["keyFile", null],
  ["serverName", ""],
])("tls.%s of %j is no text, which is told before any file is read", async (name, value) => {
  const tls = { [name]: value } as { caFile: string };
  const error = await rejection(openVaultTransitSigner({ ...OPTIONS, tls }));
  expect(error).toMatchObject({ argument: `tls.${name}`, message: expect.stringContaining("a non-empty string") });
});
