import { describe, expect, test } from "vitest";
import { ConfigurationError, openSigner } from "@signpost/core";
import {
  azureKeyVault,
  azureKeyVaultKeys,
  openAzureKeyVaultSigner,
  type AzureKeyVaultSignerOptions,
} from "@signpost/azure-key-vault";
import { loadingFailure } from "../src/identity.ts";
import { rejection } from "./support/signatures.ts";

const SECRET = "fake-token-secret-secret";
const VERSION = "0123456789abcdef0123456789abcdef";
const credential = { getToken: () => Promise.reject(new Error("not reached")) };
const OPTIONS = { vault: "https://op.vault.azure.net", key: "op", credential } as const;
const KEY = "https://op.vault.azure.net/keys/op";
const never = (): Promise<never> => Promise.reject(new Error("not reached"));
const api = { getKey: never, sign: never, listKeyVersions: never };
const publicKey = {
  kty: "EC",
  crv: "P-256",
  x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
  y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
};

describe("an option is refused by name, and never shown if it can be a secret:", () => {
  const dispatcher = { request: never };
  test.each<[argument: string, options: object]>([
    ["key", { key: undefined }],
    ["key", { key: "" }],
    ["key", { key: ["op"] }],
    ["key", { key: "a_b" }],
    ["key", { key: "a".repeat(128) }],
    ["key", { key: "../op" }],
    ["key", { key: "http://op.vault.azure.net/keys/op" }],
    ["key", { key: "https://op.vault.azure.net/secrets/op" }],
    ["key", { key: "https://op.vault.azure.net/keys/op?x=1" }],
    ["key", { key: `${KEY}/latest` }],
    ["key", { key: `https://user:${SECRET}@op.vault.azure.net/keys/op`, vault: undefined }],
    ["keyVersion", { keyVersion: "latest" }],
    ["keyVersion", { keyVersion: 3 }],
    ["keyVersion", { keyVersion: [VERSION] }],
    ["keyVersion", { key: `${KEY}/${VERSION}`, keyVersion: "f".repeat(32) }],
    ["keyVersion", { publicKey }],
    ["vault", { vault: undefined }],
    ["vault", { vault: 7 }],
    ["vault", { vault: "" }],
    ["vault", { vault: "op" }],
    ["vault", { vault: "http://op.vault.azure.net" }],
    ["vault", { vault: "http://127.0.0.1:8080" }],
    ["vault", { vault: "https://op.vault.azure.net/keys" }],
    ["vault", { vault: "op.vault.azure.net/keys" }],
    ["vault", { vault: `https://user:${SECRET}@op.vault.azure.net` }],
    ["vault", { vault: `user:${SECRET}@op.vault.azure.net` }],
    ["vault", { key: KEY, vault: "https://other.vault.azure.net" }],
    ["credential", { credential: SECRET }],
    ["credential", { credential: {} }],
    ["credential", { credential: null }],
    ["scope", { scope: "" }],
    ["scope", { scope: "https://vault.azure.net/.default x" }],
    ["scope", { scope: ["https://vault.azure.net/.default"] }],
    ["apiVersion", { apiVersion: "latest" }],
    ["apiVersion", { apiVersion: ["7.4"] }],
    ["apiVersion", { apiVersion: "7.4&x=1" }],
    ["tls.cafile", { tls: { cafile: "/f" } }],
    ["tls.caFile", { tls: { caFile: "" } }],
    ["tls.caFile", { tls: { caFile: "/there/is/no/such/file" } }],
    ["tls.serverName", { tls: { serverName: 1 } }],
    ["dispatcher", { dispatcher: {} }],
    ["dispatcher", { dispatcher: null }],
    ["tls", { dispatcher, tls: { serverName: "a" } }],
    ["api", { api: {}, credential: undefined }],
    ["api", { api: null, credential: undefined }],
    ["api", { api: { ...api, listKeyVersions: undefined }, credential: undefined }],
    ["credential", { api }],
    ["scope", { api, credential: undefined, scope: "https://vault.azure.net/.default" }],
    ["dispatcher", { api, credential: undefined, dispatcher }],
    ["openDeadlineMs", { openDeadlineMs: 0 }],
    ["concurrency", { policy: { concurrency: 0 } }],
    ["valut", { valut: "https://op.vault.azure.net" }],
  ])("%s in case %#", async (argument, options) => {
    const error = await rejection(openAzureKeyVaultSigner({ ...OPTIONS, ...options } as AzureKeyVaultSignerOptions));
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error).toMatchObject({ argument });
    expect(String(error)).not.toContain(SECRET);
  });

  test("by the adapter when it is made, and by azureKeyVaultKeys", async () => {
    expect(() => azureKeyVault({ scope: "" })).toThrow(/^scope: /);
    expect(() => azureKeyVault({ openDeadlineMs: -1 })).toThrow(/^openDeadlineMs: /);
    expect(() => azureKeyVault({ vault: KEY } as object)).toThrow(/vault/);
    for (const [argument, options] of [
      ["announceHours", { announceHours: 1 }],
      ["pickUpMinutes", { pickUpMinutes: -1 }],
      ["key", { key: `${KEY}/${VERSION}` }],
    ] as const) {
      expect(await rejection(azureKeyVaultKeys({ ...OPTIONS, ...options }))).toMatchObject({ argument });
    }
    expect(await rejection(openSigner("azurekms:///op.vault.azure.net/op", [azureKeyVault()]))).toMatchObject({
      argument: "uri",
    });
  });
});

test.each([
  ["caFile", ""],
  ["caFile", 7],
  ["serverName", ""],
  ["serverName", null],
])("tls.%s of %j is no text, which is told before any file is read", async (name, value) => {
  const tls = { [name]: value } as { caFile: string };
  const error = await rejection(openAzureKeyVaultSigner({ ...OPTIONS, tls }));
  expect(error).toMatchObject({ argument: `tls.${name}`, message: expect.stringContaining("a non-empty string") });
});

test.each<[message: string, text: RegExp]>([
  ["Cannot find package '@azure/identity' imported from /app/index.js", /npm install @azure\/identity/],
  ["Cannot find module '@azure/identity'\nRequire stack:", /npm install @azure\/identity/],
  ["Cannot find package 'other' imported from /app", /to load, but it failed with "Cannot find package 'other'/],
  [
    'Dynamic require of "x" is not supported',
    /to load, but it failed with "Dynamic require of .*: its CommonJS cannot run inside this bundle; make @azure\/identity external, or bundle to CommonJS$/,
  ],
])("a default credential that does not load because of %j says so", (message, text) => {
  expect(loadingFailure(new Error(message))).toMatch(text);
});
