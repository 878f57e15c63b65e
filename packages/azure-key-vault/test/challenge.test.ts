import { describe, expect, test } from "vitest";
import { readAuthChallenges } from "../src/auth-header.ts";
import { covers, parseChallenge } from "../src/challenge.ts";

const RESOURCE = "https://vault.azure.net";
const SCOPE = `${RESOURCE}/.default`;

describe("a header", () => {
  test.each<[header: string, challenges: readonly [scheme: string, parameters: object][]]>([
    ["Bearer", [["bearer", {}]]],
    ["BEARER Realm=x", [["bearer", { realm: "x" }]]],
    ['Bearer a="1", B = "2" ,c=3', [["bearer", { a: "1", b: "2", c: "3" }]]],
    ['Bearer a="1", a="2"', [["bearer", { a: "1" }]]],
    [
      'Basic realm="x", Bearer a="y"',
      [
        ["basic", { realm: "x" }],
        ["bearer", { a: "y" }],
      ],
    ],
    ['Bearer a="with \\" quote, and \\\\ b"', [["bearer", { a: 'with " quote, and \\ b' }]]],
    ['Bearer a=""', [["bearer", { a: "" }]]],
    ["Bearer a=https://x.example/y?z", [["bearer", { a: "https://x.example/y?z" }]]],
    ["a=1", []],
    ["", []],
    ['"', []],
    ["Bearer é a=1", [["bearer", { a: "1" }]]],
  ])("%j has these challenges", (header, challenges) => {
    const found = readAuthChallenges(header).map(({ scheme, parameters }) => [scheme, Object.fromEntries(parameters)]);
    expect(found).toEqual(challenges);
  });
});

describe("a challenge", () => {
  test.each<[header: string, scope: string | undefined]>([
    [`Bearer resource="${RESOURCE}"`, SCOPE],
    [`Bearer resource="${RESOURCE}/"`, SCOPE],
    [`Bearer resource="${SCOPE}"`, SCOPE],
    [`Bearer scope="${SCOPE}"`, SCOPE],
    [`Bearer resource="${RESOURCE}", scope="https://other.example/.default"`, SCOPE],
    [`Bearer resource="", scope="${SCOPE}"`, SCOPE],
    ['Bearer scope=""', undefined],
    [`Basic resource="${RESOURCE}"`, undefined],
    [`Bearer a=1, Bearer resource="${RESOURCE}"`, SCOPE],
  ])("%s asks for the scope %s", (header, scope) => {
    expect(parseChallenge(header)?.scope).toBe(scope);
    expect(parseChallenge([header])?.scope).toBe(scope);
  });

  test("may be in the second of two headers, and is none in none", () => {
    expect(parseChallenge(["Basic", `Bearer resource="${RESOURCE}"`])?.scope).toBe(SCOPE);
    expect(parseChallenge(undefined)).toBeUndefined();
    expect(parseChallenge("Basic realm=x")).toBeUndefined();
    expect(parseChallenge("Bearer")).toEqual({ scope: undefined, tenantId: undefined, claims: undefined });
  });

  test("is read in a header of at most 16 KiB", () => {
    const header = `Bearer resource="${RESOURCE}"`;
    expect(parseChallenge(header.padEnd(16_384))?.scope).toBe(SCOPE);
    expect(parseChallenge(header.padEnd(16_385))).toBeUndefined();
  });

  test.each<[authority: string, tenantId: string | undefined]>([
    ["https://login.microsoftonline.com/0f2c7a41-0000-0000-0000-000000000000", "0f2c7a41-0000-0000-0000-000000000000"],
    ["https://login.microsoftonline.com/contoso.example/oauth2", "contoso.example"],
    ["https://login.microsoftonline.com/common", undefined],
    ["https://login.microsoftonline.com/organizations", undefined],
    ["https://login.microsoftonline.com/consumers", undefined],
    ["https://login.microsoftonline.com/", undefined],
    ["https://login.microsoftonline.com/-x", undefined],
    [`https://login.microsoftonline.com/${"a".repeat(128)}`, "a".repeat(128)],
    [`https://login.microsoftonline.com/${"a".repeat(129)}`, undefined],
    ["login.microsoftonline.com/tenant", undefined],
  ])("with the authority %s names the tenant %s", (authority, tenantId) => {
    expect(parseChallenge(`Bearer authorization="${authority}"`)?.tenantId).toBe(tenantId);
    expect(parseChallenge(`Bearer authorization_uri="${authority}"`)?.tenantId).toBe(tenantId);
  });

  test.each<[claims: string, read: string | undefined]>([
    ['{"access_token":{}}', '{"access_token":{}}'],
    ["[]", "[]"],
    ["null", undefined],
    ["7", undefined],
    ["text", undefined],
    ["", undefined],
  ])("with the claims %j asks for %j", (claims, read) => {
    const encoded = Buffer.from(claims).toString("base64");
    expect(parseChallenge(`Bearer error="insufficient_claims", claims="${encoded}"`)?.claims).toBe(read);
    expect(parseChallenge(`Bearer error="invalid_token", claims="${encoded}"`)?.claims).toBeUndefined();
    expect(parseChallenge(`Bearer claims="${encoded}"`)?.claims).toBeUndefined();
  });

  test("with claims goes before one that asks for nothing", () => {
    const claims = Buffer.from("{}").toString("base64");
    const header = `Bearer realm="", Bearer error="insufficient_claims", claims="${claims}"`;
    expect(parseChallenge(header)?.claims).toBe("{}");
  });
});

describe("a scope", () => {
  test.each([
    [SCOPE, "op.vault.azure.net"],
    [SCOPE, "vault.azure.net"],
    ["https://vault.internal", "vault.internal"],
    ["https://vault.internal:8443/a/b", "vault.internal"],
    ["https://localhost/.default", "localhost"],
    ["https://127.0.0.1/.default", "127.0.0.1"],
    ["https://[::1]:8443/.default", "[::1]"],
  ])("%s covers %s", (scope, host) => {
    expect(covers(scope, host)).toBe(true);
  });

  test.each([
    [SCOPE, "opvault.azure.net"],
    [SCOPE, "vault.azure.net.evil.example"],
    [SCOPE, "azure.net"],
    ["https://net", "op.vault.azure.net"],
    ["https://0.1", "127.0.0.1"],
    ["https://0.0.1", "op.0.0.1"],
    ["http://vault.azure.net/.default", "op.vault.azure.net"],
    ["https://user@vault.azure.net/.default", "op.vault.azure.net"],
    [`${SCOPE} https://graph.example/.default`, "op.vault.azure.net"],
    [`${SCOPE}?x=1`, "op.vault.azure.net"],
    ["https://vault.azure.net:123456/", "vault.azure.net"],
    ["vault.azure.net", "vault.azure.net"],
    ["", "vault.azure.net"],
  ])("%s does not cover %s", (scope, host) => {
    expect(covers(scope, host)).toBe(false);
  });
});
