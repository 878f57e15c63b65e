import { describe, expect, test } from "vitest";
import { chosen, partners } from "@signpost/test-backends/chosen";

const LETTERS = [..."abcdefg"];
const NUMBERS = [1, 2, 3, 4];

describe("the sample of a list", () => {
  test.each([
    [1, ["a"]],
    [2, ["a", "g"]],
    [3, ["a", "d", "g"]],
    [4, ["a", "c", "e", "g"]],
    [7, LETTERS],
    [8, LETTERS],
  ])("of %i", (count, expected) => {
    expect(chosen(LETTERS, count, false)).toEqual(expected);
  });

  test("in the long tier is the list", () => {
    expect(chosen(LETTERS, 2, true)).toEqual(LETTERS);
  });

  test("of an empty list is empty", () => {
    expect(chosen([], 1, false)).toEqual([]);
  });

  test.each([0, -1, 1.5, Number.NaN])("is never %d", (count) => {
    expect(() => chosen(LETTERS, count, false)).toThrow(RangeError);
    expect(() => chosen(LETTERS, count, true)).toThrow(RangeError);
  });
});

describe("the sample of pairs of two lists", () => {
  const pairs = (every: number, isWhole: boolean, numbers: readonly number[] = NUMBERS): readonly string[] =>
    LETTERS.flatMap((letter) =>
      partners(LETTERS, letter, numbers, every, isWhole).map((number) => `${letter}${number}`),
    );

  test.each([1, 2, 3, 4, 5, 100])("has each item of both, one in %i", (every) => {
    const found = pairs(every, false);
    expect(new Set(found.map((pair) => pair.slice(0, 1)))).toEqual(new Set(LETTERS));
    expect(new Set(found.map((pair) => Number(pair.slice(1))))).toEqual(new Set(NUMBERS));
  });

  test("is as large as asked for", () => {
    expect([1, 2, 4, 100].map((every) => pairs(every, false).length)).toEqual([28, 14, 7, 7]);
  });

  test("in the long tier has each pair", () => {
    expect(new Set(pairs(4, true)).size).toBe(28);
  });

  test("of a list of one item has it each time", () => {
    expect(pairs(4, false, [1])).toHaveLength(LETTERS.length);
  });

  test("is of items of the list", () => {
    expect(() => partners(LETTERS, "z", NUMBERS, 2, false)).toThrow(RangeError);
  });
});
