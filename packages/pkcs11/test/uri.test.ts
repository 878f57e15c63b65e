import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ConfigurationError, openSigner } from "@signpost/core";
import { pkcs11 } from "@signpost/pkcs11";
import { formatKeyUri, formatRequestUri, parsePkcs11Uri } from "../src/request/uri.ts";

/** Bytes as JSON has them. */
const indexed = (bytes: Iterable<number>): object => Object.fromEntries([...bytes].entries());
const bytesOf = (text: string): object => indexed(Buffer.from(text));
const read = (uri: string): unknown => JSON.parse(JSON.stringify(parsePkcs11Uri(uri)));

describe("reading a PKCS #11 URI (RFC 7512)", () => {
  test.each<[uri: string, expected: object]>([
    ["pkcs11:", { selector: {}, query: {} }],
    ["pkcs11:?", { selector: {}, query: {} }],
    [
      "pkcs11:token=The%20Software%20PKCS%2311%20Softtoken;manufacturer=Snake%20Oil,%20Inc.;model=1.0;object=my-certificate;type=private;id=%69%95%3E%5C%F4%BD%EC%91;serial=",
      {
        selector: {
          token: "The Software PKCS#11 Softtoken",
          manufacturer: "Snake Oil, Inc.",
          model: "1.0",
          serial: "",
        },
        query: {
          object: bytesOf("my-certificate"),
          id: indexed([0x69, 0x95, 0x3e, 0x5c, 0xf4, 0xbd, 0xec, 0x91]),
        },
      },
    ],
    [
      "pkcs11:slot-id=327;slot-description=Slot;slot-manufacturer=Acme",
      { selector: { slotId: "327", slotDescription: "Slot", slotManufacturer: "Acme" }, query: {} },
    ],
    [
      "pkcs11:library-manufacturer=Snake%20Oil,%20Inc.;library-description=Soft%20Token%20Library;library-version=1.23",
      {
        selector: {
          libraryManufacturer: "Snake Oil, Inc.",
          libraryDescription: "Soft Token Library",
          libraryVersion: "1.23",
        },
        query: {},
      },
    ],
    [
      "pkcs11:object=a?module-path=/usr/lib/x.so&pin-source=file:/etc/token_pin",
      { selector: {}, query: { object: bytesOf("a") }, modulePath: "/usr/lib/x.so", pinSource: "file:/etc/token_pin" },
    ],
    [
      "pkcs11:?module-name=softhsm2&pin-value=the%26pin",
      { selector: {}, query: {}, moduleName: "softhsm2", pinValue: "the&pin" },
    ],
    ["pkcs11:token=%E2%98%83%0A", { selector: { token: "☃\n" }, query: {} }],
    ["pkcs11:object=caf%E9", { selector: {}, query: { object: indexed(Buffer.from("caf\xe9", "latin1")) } }],
    ["pkcs11:object=%C0%80", { selector: {}, query: { object: { 0: 0xc0, 1: 0x80 } } }],
    ["pkcs11:id=%00%fF", { selector: {}, query: { id: { 0: 0, 1: 0xff } } }],
    ["pkcs11:slot-id=2305843009213693953", { selector: { slotId: "2305843009213693953" }, query: {} }],
    ["pkcs11:slot-id=18446744073709551615", { selector: { slotId: "18446744073709551615" }, query: {} }],
    ["pkcs11:slot-id=007", { selector: { slotId: "7" }, query: {} }],
    ["PKCS11:token=A", { selector: { token: "A" }, query: {} }],
    ["pkcs11:id=ab%01", { selector: {}, query: { id: { 0: 0x61, 1: 0x62, 2: 1 } } }],
  ])("%s", (uri, expected) => {
    expect(read(uri)).toEqual(expected);
  });

  test.each<[what: string, uri: string, text: RegExp]>([
    ["an attribute that is not known", "pkcs11:tokn=a", /expected attributes of RFC 7512/],
    ["a vendor's attribute", "pkcs11:token=a;x-vendor=b", /expected attributes of RFC 7512/],
    [
      "module-path before the question mark",
      "pkcs11:token=a;module-path=/m.so",
      /; module-path belongs after the "\?"$/,
    ],
    ["token after the question mark", "pkcs11:?token=a", /; token belongs before the "\?"$/],
    ["a PIN for an attribute", "pkcs11:token=a;1234=b", /, type$/],
    ["an attribute of the query in the path", "pkcs11:module-path=a", /expected attributes/],
    ["an attribute of the path in the query", "pkcs11:?token=a", /expected attributes/],
    ["an attribute twice", "pkcs11:token=a;token=a", /the attribute token appears twice/],
    ["a pin-source twice", "pkcs11:?pin-source=file:/a&pin-source=file:/b", /the attribute pin-source appears twice/],
    ["an attribute without a value", "pkcs11:token", /expected attributes/],
    ["a separator at the end", "pkcs11:token=a;", /expected attributes/],
    ["a space that is not encoded", "pkcs11:token=a b", /token: percent-encode every character/],
    ["a slash in the path that is not encoded", "pkcs11:object=a/b", /object: percent-encode every character/],
    ["a letter beyond ASCII that is not encoded", "pkcs11:token=ä", /token: percent-encode every character/],
    ["half an escape", "pkcs11:id=%0", /id: percent-encode every character/],
    ["an escape that is none", "pkcs11:id=%0g", /id: percent-encode every character/],
    ["text that is not UTF-8", "pkcs11:token=%ff", /token: its percent-encoded bytes are not UTF-8/],
    ["a slot-id that is empty", "pkcs11:slot-id=", /slot-id: expected a whole number/],
    ["a slot-id of more than 64 bits", "pkcs11:slot-id=18446744073709551616", /slot-id: expected a whole number/],
    ["a slot-id that is no number", "pkcs11:slot-id=0x10", /slot-id: expected a whole number/],
    ["a library-version that is none", "pkcs11:library-version=1.2.3", /library-version/],
    ["another type of object", "pkcs11:type=cert", /type: expected private/],
    ["another scheme", "pkcs12:token=a", /begins with pkcs11:/],
  ])("refuses %s", (_what, uri, text) => {
    expect(() => parsePkcs11Uri(uri)).toThrow(ConfigurationError);
    expect(() => parsePkcs11Uri(uri)).toThrow(text);
  });

  test("never repeats the query, which may hold a PIN", () => {
    for (const uri of [
      "pkcs11:?pin-value=31415926 ",
      "pkcs11:?pin-valu=31415926",
      "pkcs11:?pin-value=31415926&pin-value=31415926",
    ]) {
      expect(() => parsePkcs11Uri(uri)).toThrow(
        expect.not.objectContaining({ message: expect.stringContaining("31415926") as string }) as Error,
      );
    }
  });
});

describe("writing a key's URI", () => {
  const bytes = fc.uint8Array({ minLength: 1, maxLength: 40 });
  // Latin-1, half a character, anything: CKA_LABEL is what a tool has put there.
  const labels = fc.oneof(
    bytes,
    fc.string({ unit: "grapheme", minLength: 1, maxLength: 32 }).map((label) => new TextEncoder().encode(label)),
  );
  const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 32 });

  test("reads back unchanged, with any bytes in label, serial, id and path", () => {
    fc.assert(
      fc.property(text, text, labels, bytes, text, (label, serial, object, id, module) => {
        const token = { label, serial } as Parameters<typeof formatKeyUri>[1]["token"];
        const parsed = parsePkcs11Uri(formatKeyUri(module, { token, label: object, id }));
        expect(parsed).toMatchObject({ selector: { token: label, serial }, modulePath: module });
        expect(parsed.query).toEqual({ object, id });
      }),
      { numRuns: 1_000 },
    );
  });

  test("encodes each byte of CKA_ID", () => {
    const token = { label: "t", serial: "s" } as Parameters<typeof formatKeyUri>[1]["token"];
    const odd = formatKeyUri("/pin-source=m.so", { token, label: Buffer.from("pin-value=x"), id: Buffer.from("ab") });
    expect(parsePkcs11Uri(odd)).toMatchObject({ modulePath: "/pin-source=m.so" });
    expect(odd).toContain("object=pin-value%3Dx");
    expect(formatKeyUri("/m.so", { token, label: Buffer.from("k"), id: Buffer.from("ab") })).toBe(
      "pkcs11:token=t;serial=s;object=k;id=%61%62;type=private?module-path=/m.so",
    );
  });
});

describe("what a URI does not say", () => {
  const open = (uri: string, options = {}): Promise<unknown> => openSigner(uri, [pkcs11(options)]);

  test.each<[what: string, uri: string, options: object, text: RegExp]>([
    ["no module", "pkcs11:object=a?pin-source=file:/p", {}, /module: missing: set this option, or module-path/],
    [
      "a module-name that is not known",
      "pkcs11:?module-name=toString&pin-source=file:/p",
      { modules: {} },
      /modules: expected a path for the module-name "toString"/,
    ],
    ["no PIN", "pkcs11:?module-path=/m.so", {}, /pin: missing: set this option, or pin-source/],
    [
      "a pin-value",
      "pkcs11:?module-path=/m.so&pin-value=1234",
      {},
      /pin-value: not allowed, because a PIN in a URI ends up in logs. Use pin-source/,
    ],
    [
      "both kinds of PIN",
      "pkcs11:?pin-value=1&pin-source=file:/p",
      { allowPinValue: true },
      /pin-source or pin-value, not both/,
    ],
    ["a command as pin-source", "pkcs11:?pin-source=%7C/bin/echo", { pinSource: () => "" }, /commands are not run/],
    ["a pin-source without a resolver", "pkcs11:?pin-source=vault:a", {}, /set the option pinSource/],
    ["a relative file", "pkcs11:?pin-source=file://host/p", {}, /file: and an absolute path/],
  ])("refuses %s", async (_what, uri, options, text) => {
    await expect(open(uri, options)).rejects.toThrow(text);
    await expect(open(uri, options)).rejects.toBeInstanceOf(ConfigurationError);
  });
});

describe("the URI of a key that could not be opened", () => {
  const text = (value: string): Uint8Array => new TextEncoder().encode(value);

  test("names what the caller asked for, and reads back unchanged", () => {
    const selector = { token: "op 1", serial: "a1", slotId: "2305843009213693953", libraryVersion: "3.1" };
    const query = { object: Uint8Array.of(0x63, 0xe9), id: Uint8Array.of(1) };
    const uri = formatRequestUri({ module: "/usr/lib/x.so", selector, query });
    expect(uri).toMatch(
      /^pkcs11:token=op%201;serial=a1;.*;object=c%E9;id=%01;type=private\?module-path=\/usr\/lib\/x\.so$/,
    );
    expect(parsePkcs11Uri(uri)).toMatchObject({ selector, query, modulePath: "/usr/lib/x.so" });
  });

  test("is short if the caller asked for nothing", () => {
    expect(formatRequestUri({ module: "/x.so", selector: {}, query: {} })).toBe(
      "pkcs11:type=private?module-path=/x.so",
    );
  });

  test("leaves out what may hold a PIN", () => {
    const selector = { token: "op;pin-value=31415926", serial: "a1" };
    const query = { object: text("sig,31415926"), id: text("1&31415926") };
    expect(formatRequestUri({ module: "/x.so?pin=31415926", selector, query })).toBe("pkcs11:serial=a1;type=private");
  });
});
