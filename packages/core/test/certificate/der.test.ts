import { describe, expect, test } from "vitest";
import { derElements, derElementsOf } from "../../src/certificate/der.ts";

const OCTETS = 4;
const SEQUENCE = 0x30;
const zeros = (length: number): number[] => Array.from({ length }, () => 0);
const read = (bytes: readonly number[]) => derElements(Uint8Array.from(bytes));

describe("the length of an element", () => {
  test.each([
    [[0x00], 0],
    [[0x7f], 0x7f],
    [[0x81, 0x80], 0x80],
    [[0x81, 0xff], 0xff],
    [[0x82, 0x01, 0x00], 0x100],
    [[0x82, 0xff, 0xff], 0xffff],
    [[0x83, 0x01, 0x00, 0x00], 0x10000],
  ])("%j is %d", (header, length) => {
    const elements = read([OCTETS, ...header, ...zeros(length)]);
    expect(elements?.map(({ contents }) => contents.length)).toEqual([length]);
  });

  test.each([
    ["with a byte for less than 128", [0x81, 0x7f], 0x7f],
    ["with two bytes for less than 256", [0x82, 0x00, 0xff], 0xff],
    ["with three bytes for less than 65,536", [0x83, 0x00, 0xff, 0xff], 0xffff],
    ["with four bytes", [0x84, 0x00, 0x01, 0x00, 0x00], 0x10000],
    ["that is indefinite", [0x80], 2],
  ])("%s is refused", (_what, header, length) => {
    expect(read([OCTETS, ...header, ...zeros(length)])).toBeUndefined();
  });

  test.each([
    ["contents", [OCTETS, 2, 0]],
    ["a long length", [OCTETS, 0x82, 1]],
    ["a length", [OCTETS]],
  ])("must not end too late: %s", (_what, bytes) => {
    expect(read(bytes)).toBeUndefined();
  });
});

test("elements follow each other, each with its tag, its contents and all its bytes", () => {
  expect(read([OCTETS, 1, 7, 5, 0])).toEqual([
    { tag: OCTETS, contents: Uint8Array.of(7), whole: Uint8Array.of(OCTETS, 1, 7) },
    { tag: 5, contents: new Uint8Array(), whole: Uint8Array.of(5, 0) },
  ]);
  expect(read([])).toEqual([]);
});

test("an identifier of more than one byte is refused", () => {
  expect(read([0x1f, 0x01, 0])).toBeUndefined();
  expect(read([0x1e, 0])).toHaveLength(1);
});

test("the elements inside one element need its tag, and nothing after it", () => {
  const bytes = Uint8Array.of(SEQUENCE, 2, 5, 0);
  expect(derElementsOf(bytes, SEQUENCE)).toHaveLength(1);
  expect(derElementsOf(bytes, 0x31)).toBeUndefined();
  expect(derElementsOf(Uint8Array.of(...bytes, 5, 0), SEQUENCE)).toBeUndefined();
  expect(derElementsOf(new Uint8Array(), SEQUENCE)).toBeUndefined();
});
