import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeBase64url, encodeBase64url } from "../../src/encoding/base64url.ts";

describe("base64url", () => {
  it.each([
    ["", ""],
    ["f", "Zg"],
    ["fo", "Zm8"],
    ["foo", "Zm9v"],
    ["foob", "Zm9vYg"],
    ["fooba", "Zm9vYmE"],
    ["foobar", "Zm9vYmFy"],
  ])("writes the RFC 4648 vector %j as %j, without padding", (bytes, text) => {
    expect(encodeBase64url(Buffer.from(bytes))).toBe(text);
    expect(decodeBase64url(text)).toEqual(new Uint8Array(Buffer.from(bytes)));
  });

  it("uses the two characters of RFC 4648 section 5", () => {
    expect(encodeBase64url(Uint8Array.from([0xfb, 0xff]))).toBe("-_8");
  });

  it("encodes only the view, not the memory around it", () => {
    expect(encodeBase64url(Uint8Array.from([1, 2, 3, 4, 5]).subarray(1, 4))).toBe("AgME");
  });

  it.each([63, 64, 65, 300])("encodes only the view of %d bytes, too", (length) => {
    const page = Uint8Array.from({ length: length + 20 }, (_, index) => index * 7);
    const view = page.subarray(9, 9 + length);
    expect(encodeBase64url(view)).toBe(Buffer.from(Array.from(view)).toString("base64url"));
  });

  it("round trips any bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(decodeBase64url(encodeBase64url(bytes))).toEqual(new Uint8Array(bytes));
      }),
    );
  });

  it.each([
    ["padding", "Zg=="],
    ["padding of one", "Zm8="],
    ["the standard alphabet", "+/8"],
    ["a newline", "Zm9v\n"],
    ["a blank", "Zm 9v"],
    ["another character", "Zm9*"],
    ["a lone last character", "Zm9vY"],
    ["bits behind the last byte", "Zh"],
    ["two bits behind the last byte", "Zm9"],
    ["a character beyond ASCII", "Zm9ý"],
    ["a NUL", "Zm9v\0"],
  ])("refuses %s", (_name, text) => {
    expect(decodeBase64url(text)).toBeUndefined();
  });

  it("accepts a text only if the bytes encode to exactly that text", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.base64String(),
          fc.string(),
          fc.string({ unit: fc.constantFrom("A", "Q", "w", "z", "0", "9", "-", "_", "+", "/", "=", " ", "\n") }),
        ),
        (text) => {
          const bytes = decodeBase64url(text);
          expect(bytes === undefined ? text : encodeBase64url(bytes)).toBe(text);
          expect(bytes !== undefined).toBe(isCanonical(text));
        },
      ),
      { numRuns: 3_000 },
    );
  });
});

/** Said a second way: by the characters, and by what the last one may be. */
function isCanonical(text: string): boolean {
  return (
    /^(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-][AQgw]|[A-Za-z0-9_-]{2}[AEIMQUYcgkosw048])?$/.test(text) &&
    !text.endsWith("\n")
  );
}
