import { describe, expect, test } from "vitest";
import { ADAPTERS, keyUriScheme, loadAdapter } from "../src/keys/adapters.ts";

// Which backend a key URI is for, and which URIs may be printed.

describe("the scheme of a key URI", () => {
  test.each([
    ["local:op.pem", "local"],
    ["LOCAL:op.pem", "local"],
    ["awskms:///alias/op", "awskms"],
    ["gcpkms://projects/p", "gcpkms"],
    ["vault:///transit/keys/op", "vault"],
    ["azurekms:///op.vault.azure.net/keys/op", "azurekms"],
    ["Pkcs11:token=op", "pkcs11"],
  ])("of %s is %s", (uri, scheme) => {
    expect(keyUriScheme(uri)).toBe(scheme);
  });

  test.each([
    "",
    "op.pem",
    "local",
    ":local",
    "1local:a",
    "pkcs12:pin-value=1",
    "toString:a",
    "x local:a",
    "https://a",
  ])("%j has none, and is not shown", (uri) => {
    expect(() => keyUriScheme(uri)).toThrow(
      expect.objectContaining({
        exitCode: 2,
        code: "unknown_scheme",
        message: "The key URI begins with the scheme of no backend",
        hint: `Key URIs look like this: ${Object.values(ADAPTERS)
          .map(({ example }) => example)
          .join(", ")}`,
      }),
    );
  });
});

describe("a PIN in a URI of PKCS#11", () => {
  test.each([
    "pkcs11:token=op?pin-value=1234",
    "pkcs11:token=op;pin-value=1234",
    "pkcs11:token=op?PIN-VALUE=1234",
    "pkcs11:token=op?pin_value=1234",
    "pkcs11:token=op?pin value=1234",
    "pkcs11:token=op?pinvalue=1234",
    "pkcs11:token=op?pin-value =1234",
    "pkcs11:token=op%3Bpin-value=1234",
    "pkcs11:token=op?%70in-value=1234",
    "PKCS11:token=op?module-path=/a|pin-value=1234",
  ])("is refused: %s", (uri) => {
    expect(() => keyUriScheme(uri)).toThrow(
      expect.objectContaining({
        exitCode: 2,
        code: "pin_in_uri",
        message: "A PIN in a URI ends up in logs",
        hint: "The URI contains pin-value=. Use pin-source=file:PATH instead of pin-value",
      }),
    );
  });

  test.each([
    "pkcs11:token=op?pin-source=file:pin",
    "pkcs11:object=pin-value",
    "pkcs11:object=pin-value%3D1",
    "pkcs11:object=pin-value%3d1",
    "pkcs11:object=pin--value=1",
    "local:pin-value=1234",
  ])("is not in %s", (uri) => {
    expect(() => keyUriScheme(uri)).not.toThrow();
  });
});

describe("an adapter", () => {
  test("is made with its options by its factory", async () => {
    const adapter = await loadAdapter("local", {}, "/");
    expect(adapter).toMatchObject({ open: expect.any(Function) });
  });

  test("that refuses its options names their place", async () => {
    await expect(loadAdapter("vault", { address: 7 }, "/")).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringMatching(/^adapters\.vault: /),
    });
  });

  test("of no scheme is a mistake of the caller", async () => {
    await expect(loadAdapter("none", {}, "/")).rejects.toThrow(new TypeError("no adapter for none"));
  });
});
