import { describe, expect, test } from "vitest";
import { ConfigurationError } from "@signpost/core";
import { formatKeyUri, parseKeyUri } from "../src/uri.ts";

describe("a key URI", () => {
  test.each<[uri: string, mount: string, key: string, keyVersion: number | undefined]>([
    ["vault:///transit/keys/op", "transit", "op", undefined],
    ["vault:///transit/keys/op?version=3", "transit", "op", 3],
    ["VAULT:///transit/keys/Op_1.a-b?version=2147483647", "transit", "Op_1.a-b", 2_147_483_647],
    ["vault:///team/a/transit/keys/op", "team/a/transit", "op", undefined],
    ["vault:///keys/keys/op", "keys", "op", undefined],
    ["vault:///a/keys/b/keys/op?version=1", "a/keys/b", "op", 1],
    ["vault:///transit/keys/keys", "transit", "keys", undefined],
  ])("%s", (uri, mount, key, keyVersion) => {
    expect(parseKeyUri(uri)).toEqual({ mount, key, keyVersion });
    expect(formatKeyUri({ mount, key }, keyVersion)).toBe(uri.replace("VAULT", "vault"));
  });

  test.each([
    "vault:transit/keys/op",
    "vault:/transit/keys/op",
    "vault:///op",
    "vault:///keys/op",
    "vault:///transit/op",
    "vault:///transit/keys/",
    "vault:///transit/keys/op/",
    "vault:////transit/keys/op",
    "vault:///transit//keys/op",
    "vault:///transit/keys/op/3",
    "vault:///transit/keys/op?version=",
    "vault:///transit/keys/op?version=0",
    "vault:///transit/keys/op?version=03",
    "vault:///transit/keys/op?version=-1",
    "vault:///transit/keys/op?version=1.5",
    "vault:///transit/keys/op?version=latest",
    "vault:///transit/keys/op?version=2147483648",
    "vault:///transit/keys/op?version=1&version=2",
    "vault:///transit/keys/op?Version=1",
    "vault:///transit/keys/op?token=s.secret",
    "vault:///transit/keys/op?version=1#x",
    "vault:///transit/keys/../keys/op",
    "vault:///./keys/op",
    "vault:x///transit/keys/op",
    "vault:////transit/keys/op",
    "vault:///transit/keys/..",
    "vault:///transit/keys/%6fp",
    "vault:///transit/keys/op key",
    "vault:///transit/keys/-op",
    "vault:///transit/keys/op.",
    "vault:///transit\n/keys/op",
    `vault:///transit/keys/${"a".repeat(257)}`,
    "awskms:///transit/keys/op",
  ])("%j is refused", (uri) => {
    expect(() => parseKeyUri(uri)).toThrow(ConfigurationError);
    expect(() => parseKeyUri(uri)).toThrow(/^uri: expected /);
  });

  test.each(["vault://vault.example:8200/transit/keys/op", "vault://token@host/transit/keys/op"])(
    "%s is refused, because a host could take the token",
    (uri) => {
      expect(() => parseKeyUri(uri)).toThrow(/^uri: expected .*, without a host/);
      expect(() => parseKeyUri(uri)).not.toThrow(/token@/);
    },
  );
});
