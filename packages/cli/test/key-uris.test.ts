import { describe, expect, test } from "vitest";
import { coveringScope } from "../src/backends/azure-key-vault.ts";
import { readTokenUri } from "../src/backends/pkcs11/uri.ts";

test("a value of the query of a PKCS#11 URI may have a question mark, as in the adapter", () => {
  expect(readTokenUri("pkcs11:token=op?module-name=a&module-path=/a?b|c")).toMatchObject({
    token: "op",
    modulePath: "/a?b|c",
    moduleName: "a",
  });
});

describe("the scope that a vault under another name asks for", () => {
  test.each([
    ["https://vault.example", "https://vault.example/.default"],
    ["https://vault.example/", "https://vault.example/.default"],
    ["https://vault.example/.default", "https://vault.example/.default"],
    ["https://op.vault.example", "https://op.vault.example/.default"],
  ])("%s covers op.vault.example", (resource, scope) => {
    expect(coveringScope(`Bearer resource="${resource}"`, "op.vault.example:8443")).toBe(scope);
  });

  test.each([
    "https://other.example",
    "https://example",
    "https://user@vault.example",
    "https://vault.example/ https://graph.example/.default",
    "https://vault.example?a=b",
    "https://vault.example#a",
    "http://vault.example",
    "vault.example",
  ])("%s gets no token", (resource) => {
    expect(coveringScope(`Bearer resource="${resource}"`, "op.vault.example")).toBeUndefined();
  });

  test("an address covers only itself", () => {
    expect(coveringScope('Bearer resource="https://0.0.1"', "127.0.0.1")).toBeUndefined();
    expect(coveringScope('Bearer resource="https://127.0.0.1"', "127.0.0.1")).toBe("https://127.0.0.1/.default");
  });
});
