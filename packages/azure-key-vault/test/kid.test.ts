import { describe, expect, test } from "vitest";
import { createKidReader, requireVersion, type KidReader } from "../src/kid.ts";
import { parseVault } from "../src/vault.ts";

const V = "0123456789abcdef0123456789abcdef";
const HOST = "https://op.vault.azure.net";
const kids = (vault = HOST, key = "op"): KidReader => createKidReader(parseVault("vault", vault), key);
const read = (kid: unknown, reader = kids()): unknown => {
  try {
    return reader.versionOf(kid, "read op");
  } catch (error) {
    return error;
  }
};
const isHere = (url: string, reader = kids()): boolean => reader.isHere(new URL(url));

describe("the identifier of a version", () => {
  test.each([
    `${HOST}/keys/op/${V}`,
    `http://op.vault.azure.net/keys/op/${V}`,
    `${HOST}:8443/keys/op/${V}`,
    `https://OP.vault.azure.net/keys/OP/${V}`,
  ])("%s names the version", (kid) => {
    expect(read(kid)).toBe(V);
  });

  test.each([
    7,
    {},
    V,
    `x${HOST}/keys/op/${V}`,
    `ftp://op.vault.azure.net/keys/op/${V}`,
    `https:///keys/op/${V}`,
    `https://a b/keys/op/${V}`,
    `${HOST}/secrets/op/${V}`,
    `${HOST}/keys/op`,
    `${HOST}/keys/op/${V}/`,
    `${HOST}/keys/op/${V}0`,
    `${HOST}/keys/op/${V.slice(1)}`,
    `${HOST}/keys/op/${V}?x`,
    `${HOST}/keys/${"a".repeat(128)}/${V}`,
    `${HOST}/keys/a_b/${V}`,
  ])("is not %j", (kid) => {
    expect(read(kid)).toMatchObject({ code: "integrity", message: "read op: kid is not the identifier of a version" });
  });

  test.each([undefined, null, ""])("is missing in %j", (kid) => {
    expect(read(kid)).toMatchObject({ code: "integrity", message: "read op was answered without kid" });
  });

  test("of another vault, or of another key, is refused", () => {
    expect(read(`https://other.vault.azure.net/keys/op/${V}`)).toMatchObject({
      code: "wrong_key",
      message: "read op: the key of another vault answered",
    });
    expect(read(`${HOST}/keys/other/${V}`)).toMatchObject({
      code: "wrong_key",
      message: "read op: another key answered, expected op",
    });
    expect(read(`${HOST}/keys/op/${V}`, kids(HOST, "OP"))).toBe(V);
  });

  test("may be of any vault behind a proxy, but of the same one in all answers", () => {
    const reader = kids("https://proxy.example:8443");
    expect(read(`${HOST}/keys/op/${V}`, reader)).toBe(V);
    expect(read(`${HOST}:1/keys/op/${V}`, reader)).toBe(V);
    expect(read(`https://other.vault.azure.net/keys/op/${V}`, reader)).toMatchObject({ code: "wrong_key" });
  });

  test("of another version than the one that was asked for is refused", () => {
    expect(() => requireVersion(V, V, "read op")).not.toThrow();
    expect(() => requireVersion("other", V, "read op")).toThrow(`read op: version other answered, expected ${V}`);
  });
});

describe("a link leads to a vault", () => {
  test.each([
    [`${HOST}/x`, true],
    [`${HOST}:443/x`, true],
    [`${HOST}:8443/x`, false],
    ["http://op.vault.azure.net/x", false],
    ["http://op.vault.azure.net:443/x", false],
    ["https://other.vault.azure.net/x", false],
  ])("of Azure only by its own host over https: %s, %s", (url, expected) => {
    expect(isHere(url)).toBe(expected);
  });

  test.each([
    ["https://op.vault.azure.net/x", true],
    ["https://op.vault.azure.net:8443/x", true],
    ["https://op.vault.azure.net:443/x", true],
    ["https://op.vault.azure.net:9443/x", false],
    ["http://op.vault.azure.net:8443/x", false],
  ])("of Azure at another port, with or without the port: %s, %s", (url, expected) => {
    expect(isHere(url, kids(`${HOST}:8443`))).toBe(expected);
  });

  test.each([
    ["https://proxy.example:8443/x", true, true],
    ["http://proxy.example:8443/x", false, false],
    ["https://proxy.example/x", false, false],
    ["https://op.vault.azure.net/x", false, true],
    ["http://op.vault.azure.net:1/x", false, true],
    ["ftp://op.vault.azure.net/x", false, false],
  ])(
    "behind a proxy by the proxy's host, and by the name in its answers: %s, %s before and %s after",
    (url, before, after) => {
      const reader = kids("https://proxy.example:8443");
      expect(isHere(url, reader)).toBe(before);
      reader.versionOf(`${HOST}/keys/op/${V}`, "read op");
      expect(isHere(url, reader)).toBe(after);
    },
  );
});
