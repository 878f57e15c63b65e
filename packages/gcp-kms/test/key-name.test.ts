import { describe, expect, test } from "vitest";
import { isKeyVersionName, namesProjectOtherwise, parseCryptoKey, parseKeyName, projectOf } from "../src/key-name.ts";

describe("the name", () => {
  const KEY = "projects/p/locations/l/keyRings/r/cryptoKeys/k";
  test.each<[name: string, parsed: object]>([
    [KEY, { kind: "key", cryptoKey: KEY }],
    [`${KEY}/cryptoKeyVersions/3`, { kind: "version", keyVersion: `${KEY}/cryptoKeyVersions/3` }],
    [`${KEY}/versions/3`, { kind: "version", keyVersion: `${KEY}/cryptoKeyVersions/3` }],
    [
      `${KEY}/versions/1${"0".repeat(18)}`,
      { kind: "version", keyVersion: `${KEY}/cryptoKeyVersions/1${"0".repeat(18)}` },
    ],
    [KEY.replace("/r/", `/${"r".repeat(63)}/`), { kind: "key" }],
  ])("%s is read", (name, parsed) => {
    expect(parseKeyName("keyVersion", name)).toMatchObject(parsed);
    expect(isKeyVersionName(name)).toBe("keyVersion" in parsed);
  });

  test.each([
    `${KEY}/versions/0`,
    `${KEY}/versions/03`,
    `${KEY}/versions/1${"0".repeat(19)}`,
    KEY.replace("/r/", `/${"r".repeat(64)}/`),
    `x${KEY}`,
    `x/${KEY}/versions/3`,
    `\n${KEY}/versions/3`,
    `${KEY}/versions/3\n`,
    `${KEY}/versions/3/`,
    `${KEY}x/`,
    "",
  ])("%s is refused", (name) => {
    expect(() => parseKeyName("keyVersion", name)).toThrow(/^keyVersion: expected projects\/PROJECT/);
    expect(isKeyVersionName(name)).toBe(false);
  });

  test("is shown where it has segments like a name, and cannot be a secret", () => {
    const shown = (name: unknown): string => {
      try {
        return parseCryptoKey(name);
      } catch (error) {
        return String(error).replace(/^.*, got /s, "");
      }
    };
    expect(shown("a/b")).toBe("a/b");
    expect(shown("https://user:pass@host")).toBe("a string");
    const longest = `${`${"a".repeat(64)}/`.repeat(16)}${"a".repeat(64)}`;
    expect(shown(longest)).toBe(longest);
    expect(shown(`${longest}a`)).toBe("a string");
    expect(shown(`${"a".repeat(65)}/b`)).toBe("a string");
    // A token, and a private key in base64url.
    expect(shown("eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl")).toBe("a string");
    expect(shown("jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI")).toBe("a string");
    expect(shown(7)).toBe("7");
    expect(shown(["a/b"])).toBe("an array");
    expect(shown(`${KEY}/versions/1`)).toBe(`${KEY}/versions/1`);
  });

  test("of a project may be its number", () => {
    const byNumber = KEY.replace("/p/", "/123/");
    expect([projectOf(KEY), projectOf(byNumber), projectOf("p")]).toEqual(["p", "123", undefined]);
    expect(namesProjectOtherwise(KEY, byNumber)).toBe(true);
    expect(namesProjectOtherwise(byNumber, KEY)).toBe(true);
    expect(namesProjectOtherwise(KEY, KEY.replace("/p/", "/q/"))).toBe(false);
    expect(namesProjectOtherwise(byNumber, KEY.replace("/p/", "/124/"))).toBe(false);
    expect(namesProjectOtherwise(KEY, KEY.replace("/p/", "/op-1/"))).toBe(false);
    expect(namesProjectOtherwise(KEY.replace("/p/", "/1-op/"), KEY)).toBe(false);
    expect(namesProjectOtherwise(KEY, `${byNumber}2`)).toBe(false);
    expect(namesProjectOtherwise("x", "y")).toBe(false);
  });
});
