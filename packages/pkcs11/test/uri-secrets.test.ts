import { inspect } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { openSigner } from "@signpost/core";
import { pkcs11 } from "@signpost/pkcs11";

const PIN = "31415926";

/** The error of opening, as a logger that hides nothing would print it. */
async function printed(uri: string, options: Parameters<typeof pkcs11>[0] = {}): Promise<string> {
  const error: unknown = await openSigner(uri, [pkcs11(options)]).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ name: expect.stringMatching(/^(ConfigurationError|SignerError)$/) as string });
  return inspect(error, { depth: 20, showHidden: true });
}

describe("a PIN in the wrong place of a URI", () => {
  test.each([
    `pkcs11:object=sig?module-path=/x.so?pin-value=${PIN}`,
    `pkcs11:object=sig&pin-value=${PIN}?module-path=/x.so`,
    `pkcs11:object=sig,pin-value=${PIN}?module-path=/x.so`,
    `pkcs11:object=sig?module-path=/x.so;pin-value=${PIN}`,
    `pkcs11:object=sig?module-path=/x.so,pin-value=${PIN}`,
    `pkcs11:object=sig?module-name=softhsm?pin-value=${PIN}`,
    `pkcs11:object=sig?module-path=/x.so?pin-vaule=${PIN}`,
    `pkcs11:object=sig?module-path=/x.so%26pin-value=${PIN}`,
    `pkcs11:object=sig?module-path=/x.so?%70in-v%61lue=${PIN}`,
    `pkcs11:object=sig?module-path=/x.so?PIN-VALUE=${PIN}`,
    `pkcs11:object=sig?module-path=/x.so&pin-source=file:/run/pin?pin-value=${PIN}`,
    `pkcs11:object=sig?module-path=/x.so&pin-source=file:${PIN}`,
    `pkcs11:object=sig?module-path=/x.so&pin-source=${PIN}`,
  ])("never appears in an error: %s", async (uri) => {
    expect(await printed(uri)).not.toContain(PIN);
    expect(await printed(uri, { pin: "1234" })).not.toContain(PIN);
    expect(await printed(uri, { pin: "1234", module: "/nowhere.so", modules: { other: "/x.so" } })).not.toContain(PIN);
  });

  test("never appears in an error, whatever is wrong with the URI", async () => {
    const separator = fc.constantFrom(
      "?",
      "&",
      ";",
      ",",
      "|",
      "??",
      "%3F",
      "%26",
      "%3B",
      "%2C",
      "?&",
      ";?",
      " ",
      "#",
      "",
    );
    const pinNames =
      "pin-value pin-source PIN-VALUE Pin-Value pin_value pinvalue pin-vaule pin password x-pin-value %70in-value " +
      "pin%2Dvalue pin-valu%65 pin-value%20 pin-source=file: pin-source=file";
    const pinName = fc.constantFrom(...pinNames.split(" "));
    const equals = fc.constantFrom("=", "==", "%3D", "=%20", "=file:", "=file:/", "=|");
    const name = fc.constantFrom(
      "object",
      "token",
      "module-path",
      "module-name",
      "id",
      "slot-id",
      "type",
      "x",
      "library-version",
    );
    const value = fc.constantFrom("a", "/x.so", "/usr/lib", "softhsm", "%01", "1", "private", "");
    const part = fc.oneof(
      { weight: 3, arbitrary: fc.tuple(name, fc.constant("="), value).map((texts) => texts.join("")) },
      { weight: 2, arbitrary: fc.tuple(pinName, equals, fc.constant(PIN)).map((texts) => texts.join("")) },
    );
    const mangled = fc
      .tuple(
        fc.constantFrom("pkcs11:", "pkcs11://", "PKCS11:", "pkcs11"),
        fc.array(fc.tuple(part, separator), { minLength: 1, maxLength: 6 }),
      )
      .map(([scheme, parts]) => scheme + parts.flat().join(""));
    // Right but for one thing, which gets the furthest.
    const starts =
      "object=a object=a?module-path=/x.so object=a?module-name=b token=a?module-path=/x.so&pin-source=file:/p";
    const nearlyRight = fc
      .tuple(
        fc.constantFrom(...starts.split(" ")),
        separator,
        pinName,
        equals,
        fc.constantFrom("", "?module-path=/x.so"),
      )
      .map(([start, between, attribute, sign, end]) => `pkcs11:${start}${between}${attribute}${sign}${PIN}${end}`);
    const uri = fc
      .oneof(mangled, nearlyRight)
      // An equals sign that is encoded is meant, and a file's path is no secret: its name may then be in a message.
      .filter((text) => !/pin-source=file:\/31415926/.test(text) && !text.includes("%3D31415926"));
    await fc.assert(
      fc.asyncProperty(uri, async (text) => {
        expect(await printed(text, { pin: "1234", module: "/nowhere.so" })).not.toContain(PIN);
      }),
      { numRuns: 1_000 },
    );
  });

  test("is distinguished from a label that really contains such text", async () => {
    const text = await printed(`pkcs11:object=a&b%3Dpin-value%3D1?module-path=/nowhere.so&pin-source=file:/p`);
    expect(text).toContain("/nowhere.so");
  });
});
