import { afterEach, describe, expect, test, vi } from "vitest";
import { authFromEnvironment, isSecret, readAuth, type VaultTransitAuth } from "../src/auth.ts";
import { parseKey, parseMount, parseNamespace, parseVersion } from "../src/key-name.ts";

// What the option auth may be, and what a mistake in it is called.

const SECRET = "s.1234";
const secret = (): string => SECRET;
const LONGEST = "a".repeat(16_384);

describe("is taken as it is:", () => {
  test.each<VaultTransitAuth>([
    { method: "token", token: SECRET },
    { method: "token", token: secret },
    { method: "token", token: LONGEST },
    { method: "token", token: "!~" },
    { method: "token-file", path: "/run/token" },
    { method: "approle", roleId: "r", secretId: undefined, secretIdFile: undefined, mount: undefined },
    { method: "approle", roleId: "r", secretId: SECRET, mount: "team/approle", namespace: "org/team" },
    { method: "approle", roleId: "r", secretId: secret },
    { method: "approle", roleId: "r", secretIdFile: "/run/secret" },
    { method: "kubernetes", role: "r" },
    { method: "kubernetes", role: "r", jwtFile: "/run/jwt", mount: "jwt", namespace: "team" },
    { method: "none" },
  ])("%o", (auth) => {
    const read = readAuth(auth);
    expect(read).toEqual(auth);
    expect(read).not.toBe(auth);
  });
});

describe("a mistake", () => {
  const approle = { method: "approle", roleId: "r" };
  const kubernetes = { method: "kubernetes", role: "r" };
  test.each<[argument: string, auth: unknown]>([
    ["auth", undefined],
    ["auth", null],
    ["auth", SECRET],
    ["auth", { method: "ldap" }],
    ["auth", { method: "toString" }],
    ["auth.tokn", { method: "token", token: SECRET, tokn: SECRET }],
    ["auth.path", { method: "token", token: SECRET, path: "/a" }],
    ["auth.token", { method: "token" }],
    ["auth.token", { method: "token", token: "" }],
    ["auth.token", { method: "token", token: `${SECRET} ` }],
    ["auth.token", { method: "token", token: `${SECRET}\u007F` }],
    ["auth.token", { method: "token", token: `${LONGEST}a` }],
    ["auth.token", { method: "token", token: 7 }],
    ["auth.path", { method: "token-file", path: "" }],
    ["auth.roleId", { ...approle, roleId: "" }],
    ["auth.secretId", { ...approle, secretId: "" }],
    ["auth.secretId", { ...approle, secretId: `${SECRET}\n` }],
    ["auth.secretIdFile", { ...approle, secretId: SECRET, secretIdFile: "/a" }],
    ["auth.secretIdFile", { ...approle, secretIdFile: "" }],
    ["auth.secretIdFile", { ...approle, secretIdFile: 7 }],
    ["auth.mount", { ...approle, mount: "a/../b" }],
    ["auth.namespace", { ...approle, namespace: "/" }],
    ["auth.role", { ...kubernetes, role: undefined }],
    ["auth.jwtFile", { ...kubernetes, jwtFile: "" }],
    ["auth.mount", { ...kubernetes, mount: "/jwt" }],
    ["auth.namespace", { ...kubernetes, namespace: 7 }],
    ["auth.token", { method: "none", token: SECRET }],
  ])("of %s is named, and no value is shown: %o", (argument, auth) => {
    const error = (() => {
      try {
        return readAuth(auth as VaultTransitAuth);
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(error).toMatchObject({ name: "ConfigurationError", argument });
    expect(String(error)).not.toContain(SECRET);
  });

  test("of a secret says what was given, and what is expected", () => {
    const expected = "auth.token: expected visible ASCII characters without spaces, or a function";
    expect(() => readAuth({ method: "token", token: 7 as never })).toThrow(`${expected}, got a number`);
    expect(() => readAuth({ method: "token", token: "" })).toThrow(`${expected}, got an empty string`);
  });
});

test.each([
  ["!", true],
  [LONGEST, true],
  ["", false],
  ["a b", false],
  ["a\n", false],
  ["ä", false],
  [`${LONGEST}a`, false],
])("%j can be a secret: %s", (text, can) => {
  expect(isSecret(text)).toBe(can);
});

describe("the token of the environment", () => {
  afterEach(() => void vi.unstubAllEnvs());

  test.each<[bao: string, vault: string, auth: object | undefined]>([
    ["", "", undefined],
    ["", "v", { method: "token", token: "v" }],
    ["b", "v", { method: "token", token: "b" }],
  ])("BAO_TOKEN=%s and VAULT_TOKEN=%s is %o", (bao, vault, auth) => {
    vi.stubEnv("BAO_TOKEN", bao);
    vi.stubEnv("VAULT_TOKEN", vault);
    expect(authFromEnvironment()).toEqual(auth);
  });

  test("that is none is called by the name of its variable", () => {
    vi.stubEnv("BAO_TOKEN", "");
    vi.stubEnv("VAULT_TOKEN", `${SECRET} x`);
    expect(authFromEnvironment).toThrow(expect.objectContaining({ argument: "VAULT_TOKEN" }));
  });
});

describe("a name", () => {
  const LONG = "a".repeat(256);
  test.each(["a", "_", "op-2026.1", LONG])("of a key may be %s", (key) => {
    expect(parseKey("key", key)).toBe(key);
  });

  test.each(["", ".", "-a", "a-", "a.", "a/b", "a b", "ä", `${LONG}a`, 7, null])("of a key is not %j", (key) => {
    expect(() => parseKey("key", key)).toThrow(/^key: expected the name of a Transit key/);
  });

  test.each(["transit", "team/transit", `${"a/".repeat(127)}ab`])("of a mount may be %s", (mount) => {
    expect(parseMount("mount", mount)).toBe(mount);
  });

  test.each(["", "/", "a/", "/a", "a//b", "..", "a/./b", `${LONG}a`, 7])("of a mount is not %j", (mount) => {
    expect(() => parseMount("mount", mount)).toThrow(/^mount: expected the path of a mount/);
  });

  test.each([
    ["team", "team"],
    ["org/team/", "org/team"],
  ])("of a namespace may be %s, which is %s", (namespace, read) => {
    expect(parseNamespace("namespace", namespace)).toBe(read);
  });

  test.each(["", "/", "team//", "/team", "a b", undefined])("of a namespace is not %j", (namespace) => {
    expect(() => parseNamespace("namespace", namespace)).toThrow(/^namespace: expected a namespace/);
  });

  test.each([1, 2_147_483_647])("may have the version %i", (version) => {
    expect(parseVersion("keyVersion", version)).toBe(version);
  });

  test.each([0, 2_147_483_648, 1.5, "1", Number.NaN])("has no version %j", (version) => {
    expect(() => parseVersion("keyVersion", version)).toThrow(/^keyVersion: expected a whole number/);
  });
});
