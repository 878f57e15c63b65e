import { describe, expect, test } from "vitest";
import { decodeSignRequest, encodeKeys, encodeMetadata, isEmptyRequest } from "../src/wire/messages.ts";

// The bytes of Protocol Buffers, by its encoding guide. What an independent implementation makes of them is in serve.test.ts.

const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex.replaceAll(" ", ""), "hex"));

describe("a SignJWTRequest", () => {
  test.each([
    ["claims", "0a 03 616263", "abc"],
    ["empty claims", "0a 00", ""],
    ["claims twice: the last counts", "0a 01 61 0a 01 62", "b"],
    ["a length of more than one byte than it needs", "0a 83 00 616263", "abc"],
    ["a field of a newer client, with bytes", "12 02 ffff 0a 01 61", "a"],
    ["a varint of a newer client", "18 ff ff ff ff ff ff ff ff ff 01 0a 01 61", "a"],
    ["64 bits of a newer client", "19 0000000000000000 0a 01 61", "a"],
    ["32 bits of a newer client", "1d 00000000 0a 01 61", "a"],
  ])("%s", (_what, hex, claims) => {
    expect(decodeSignRequest(bytes(hex))).toBe(claims);
  });

  test.each([
    ["nothing", ""],
    ["no claims", "12 01 61"],
    ["a length beyond the end", "0a 04 616263"],
    ["a huge length", "0a ff ff ff ff ff ff ff ff 7f 61"],
    ["a length that does not end", "0a ff"],
    ["a varint of more than ten bytes", "18 ff ff ff ff ff ff ff ff ff ff 01 0a 01 61"],
    ["a tag alone", "0a"],
    ["64 bits that are cut", "19 00000000000000"],
    ["32 bits that are cut", "1d 000000"],
    ["a group", "0b 0c"],
    ["a wire type that there is not", "0e 0a 01 61"],
    ["the field 0", "02 01 61"],
    ["a field above the largest", "82 80 80 80 10 01 61 0a 01 61"],
  ])("refused: %s", (_what, hex) => {
    expect(decodeSignRequest(bytes(hex))).toBeUndefined();
  });
});

test("a request without members may have those of a newer client", () => {
  expect(isEmptyRequest(bytes(""))).toBe(true);
  expect(isEmptyRequest(bytes("0a 01 61"))).toBe(true);
  expect(isEmptyRequest(bytes("0a 05"))).toBe(false);
});

test("a FetchKeysResponse", () => {
  const answer = encodeKeys({
    keys: [
      { keyId: "a", spki: bytes("3059"), excludeFromDiscovery: false },
      { keyId: "é", spki: bytes("00"), excludeFromDiscovery: true },
    ],
    dataTimestamp: new Date(1_600_000_000_250),
    refreshHintSeconds: 300,
  });
  expect(answer).toEqual(
    Buffer.from(
      bytes(
        "0a 07 0a0161 12023059  0a 09 0a02c3a9 120100 1801  12 0b 08 80a0f8fa05 10 80e59a77  18 ac02".replaceAll(
          "  ",
          " ",
        ),
      ),
    ),
  );
});

test("a MetadataResponse", () => {
  expect(encodeMetadata(86_400)).toEqual(Buffer.from(bytes("08 80a305")));
});
