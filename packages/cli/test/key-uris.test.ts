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

test("each part of a PKCS#11 URI is read by its own name, and percent-decoded", () => {
  const uri = [
    "pkcs11:token=a%20b;serial=01;manufacturer=M%3BX;model=HSM;slot-id=0007;slot-description=d;slot-manufacturer=sm",
    ";library-description=ld;library-manufacturer=lm;library-version=3.1;object=%C3%A4=;id=%00%FF",
    "?module-path=/a%3Fb&module-name=n",
  ].join("");
  expect(readTokenUri(uri)).toEqual({
    token: "a b",
    serial: "01",
    manufacturer: "M;X",
    model: "HSM",
    slotId: "7",
    slotDescription: "d",
    slotManufacturer: "sm",
    libraryDescription: "ld",
    libraryManufacturer: "lm",
    libraryVersion: "3.1",
    object: "c3a43d",
    id: "00ff",
    modulePath: "/a?b",
    moduleName: "n",
  });
});

test("what a PKCS#11 URI leaves out selects nothing", () => {
  const parts = Object.values(readTokenUri("pkcs11:"));
  expect(parts).toHaveLength(14);
  expect(parts.filter((part) => part !== undefined)).toEqual([]);
});

test.each([
  ["18446744073709551615", "18446744073709551615"],
  ["000", "0"],
  ["1a", "1a"],
  ["184467440737095516150", "184467440737095516150"],
  ["", ""],
])("the slot %j is %j", (given, slotId) => {
  expect(readTokenUri(`pkcs11:slot-id=${given}`).slotId).toBe(slotId);
});
