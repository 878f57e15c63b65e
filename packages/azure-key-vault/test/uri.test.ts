import { describe, expect, test } from "vitest";
import { ConfigurationError } from "@signpost/core";
import { parseIdentifier } from "../src/key-name.ts";
import { formatKeyUri, parseKeyUri } from "../src/uri.ts";

const V = "0123456789abcdef0123456789abcdef";
const CANONICAL = `azurekms:///op.vault.azure.net/keys/id-token/${V}`;

describe("a key URI", () => {
  test.each<[uri: string, host: string, key: string, keyVersion: string | undefined]>([
    [CANONICAL, "op.vault.azure.net", "id-token", V],
    ["azurekms:///op.vault.azure.net/keys/id-token", "op.vault.azure.net", "id-token", undefined],
    [`AzureKMS:///OP.managedhsm.azure.net/keys/Op-1/${V}`, "op.managedhsm.azure.net", "Op-1", V],
    ["azurekms:///op.vault.azure.cn/keys/keys", "op.vault.azure.cn", "keys", undefined],
    ["azurekms:///127.0.0.1:8443/keys/op", "127.0.0.1:8443", "op", undefined],
  ])("%s", (uri, host, key, keyVersion) => {
    const name = parseKeyUri(uri);
    expect([name.vault.host, name.key, name.keyVersion]).toEqual([host, key, keyVersion]);
    expect(parseKeyUri(formatKeyUri(name))).toEqual(name);
  });

  test.each<[peer: string, uri: string]>([
    ["two slashes", `azurekms://op.vault.azure.net/keys/id-token/${V}`],
    ["sigstore and cosign", `azurekms://op.vault.azure.net/id-token/${V}`],
    ["step-ca", `azurekms:name=id-token;vault=op?version=${V}`],
    ["step-ca, in another order", `azurekms:vault=op;name=id-token?hsm=true&version=${V}`],
    ["step-ca, with the host", `azurekms:name=id-token;vault=op.vault.azure.net?version=${V}`],
  ])("in the form of %s becomes the canonical one", (_peer, uri) => {
    expect(formatKeyUri(parseKeyUri(uri))).toBe(CANONICAL);
  });

  test("of a vault whose host has no dot names its port, and can be read again", () => {
    for (const identifier of ["https://vault-proxy/keys/op", "https://localhost:443/keys/op"]) {
      const name = parseIdentifier("key", identifier);
      expect(formatKeyUri(name)).toMatch(/^azurekms:\/\/\/[a-z-]+:443\/keys\/op$/);
      expect(parseKeyUri(formatKeyUri(name))).toEqual(name);
    }
  });

  test("of sigstore and step-ca may have no version", () => {
    for (const uri of ["azurekms://op.vault.azure.net/id-token", "azurekms:name=id-token;vault=op"]) {
      expect(formatKeyUri(parseKeyUri(uri))).toBe("azurekms:///op.vault.azure.net/keys/id-token");
    }
  });

  test.each([
    "azurekms:",
    "azurekms:///",
    "azurekms:///op.vault.azure.net",
    "azurekms:///op.vault.azure.net/keys",
    "azurekms:///op.vault.azure.net/keys/",
    "azurekms:///op.vault.azure.net/secrets/op",
    "azurekms:///op.vault.azure.net/keys/op/latest",
    `azurekms:///op.vault.azure.net/keys/op/${V}/`,
    `azurekms:///op.vault.azure.net/keys/op/${V}/sign`,
    `azurekms:///op.vault.azure.net/keys/op/${V.slice(1)}`,
    `azurekms:///op.vault.azure.net/keys/op?version=${V}`,
    `azurekms:///op.vault.azure.net/keys/op/${V}#x`,
    "azurekms:///op/keys/op",
    "azurekms:////op.vault.azure.net/keys/op",
    "azurekms:x//op.vault.azure.net/keys/op",
    "azurekms:x//op.vault.azure.net/op",
    "azurekms:/name=op;vault=op",
    "azurekms:///user:secret@op.vault.azure.net/keys/op",
    "azurekms:///op.vault.azure.net/keys/%6fp",
    "azurekms:///op.vault.azure.net/keys/a_b",
    "azurekms:///op.vault.azure.net/keys/..",
    "azurekms:///https://op.vault.azure.net/keys/op",
    `azurekms:///op.vault.azure.net/keys/${"a".repeat(128)}`,
    "azurekms:name=op",
    "azurekms:vault=op",
    "azurekms:name=op;vault=op;vault=other",
    "azurekms:name=op;vault=op?client-secret=secret",
    "azurekms:name=op;vault=op?version=1",
    "azurekms:name=op;vault=a/b",
    "awskms:///op.vault.azure.net/keys/op",
  ])("%j is refused", (uri) => {
    expect(() => parseKeyUri(uri)).toThrow(ConfigurationError);
    expect(() => parseKeyUri(uri)).toThrow(/^uri: /);
    expect(() => parseKeyUri(uri)).not.toThrow(/secret@|client-secret/);
  });
});
