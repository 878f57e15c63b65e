import { describe, expect, test } from "vitest";
import { bytesField, numberField, readBytesFields, textField } from "../src/wire/fields.ts";
import { decodeSignRequest, encodeKeys, encodeMetadata } from "../src/wire/messages.ts";

// Fields of Protocol Buffers, by its encoding guide: at the limits of numbers and lengths.

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text.replaceAll(" ", ""), "hex"));

describe("a number is written in as few bytes as it needs", () => {
  test.each([
    [0, ""],
    [1, "0801"],
    [127, "087f"],
    [128, "088001"],
    [300, "08ac02"],
    [16_383, "08ff7f"],
    [16_384, "08808001"],
    [2 ** 32, "088080808010"],
    [2 ** 53 - 1, "08ffffffffffffff0f"],
  ])("%d", (value, expected) => {
    expect(hex(numberField(1, value))).toBe(expected);
  });

  test("and so are the numbers of fields and lengths", () => {
    expect(hex(numberField(16, 1))).toBe("800101");
    expect(hex(textField(2, "é"))).toBe("1202c3a9");
    expect(hex(bytesField(1, new Uint8Array()))).toBe("0a00");
    expect(hex(bytesField(1, new Uint8Array(200)))).toBe(`0ac801${"00".repeat(200)}`);
  });
});

describe("fields are read", () => {
  test.each([0, 1, 127, 128, 300, 70_000])("with %d bytes", (length) => {
    const content = new Uint8Array(length).fill(7);
    const message = Buffer.concat([bytesField(1, content), numberField(3, 5), bytesField(16, Uint8Array.of(1))]);
    const read = readBytesFields(message)?.map((field) => [field.number, hex(field.bytes)]);
    expect(read).toEqual([
      [1, hex(content)],
      [16, "01"],
    ]);
  });

  test.each([
    ["the largest number of a field", "fa ff ff ff 0f 00", [536_870_911]],
    ["a varint of ten bytes", "08 80 80 80 80 80 80 80 80 80 01", []],
    ["32 bits at the end", "0d 00000000", []],
    ["64 bits at the end", "09 0000000000000000", []],
    ["no field", "", []],
  ])("with %s", (_what, message, numbers) => {
    expect(readBytesFields(bytes(message))?.map(({ number }) => number)).toEqual(numbers);
  });

  test.each([
    ["the number after the largest", "82 80 80 80 10 00"],
    ["the number 0", "00 00"],
    ["a varint of eleven bytes", "08 80 80 80 80 80 80 80 80 80 80 01"],
    ["a varint of ten bytes that does not end", "08 80 80 80 80 80 80 80 80 80 80"],
    ["a varint that is missing", "08"],
    ["a byte less than its length", "0a 02 00"],
    ["the start of a group", "0b"],
    ["the end of a group", "0c"],
    ["the wire type 6", "0e 00"],
    ["the wire type 7", "0f 00"],
    ["a field and a half", "0a 01 61 0a"],
  ])("not with %s", (_what, message) => {
    expect(readBytesFields(bytes(message))).toBeUndefined();
  });
});

test("claims are read from their own field alone, and byte by byte", () => {
  expect(decodeSignRequest(bytes("0a 01 ff 12 01 61"))).toBe("\u00FF");
  expect(decodeSignRequest(bytes("1a 01 61"))).toBeUndefined();
});

test.each([
  [0, "1200"],
  [1, "120410c0843d"],
  [1000, "12020801"],
  [1001, "1206080110c0843d"],
])("a time of %d ms since 1970 has whole seconds and nanoseconds", (ms, expected) => {
  expect(hex(encodeKeys({ keys: [], dataTimestamp: new Date(ms), refreshHintSeconds: 0 }))).toBe(expected);
});

test("a longest lifetime of 0 is not written", () => {
  expect(hex(encodeMetadata(0))).toBe("");
});
