import { describe, expect, test } from "vitest";
import { nearestName } from "@signpost/core/adapter";

describe("the name that was probably meant", () => {
  test.each([
    ["a letter is replaced", "regiom", "region"],
    ["a letter is missing", "rgion", "region"],
    ["the first letter is missing", "egion", "region"],
    ["a letter is too much", "regiion", "region"],
    ["a letter is too much at the start", "aregion", "region"],
    ["two letters are swapped", "regoin", "region"],
    ["the case is another", "REGION", "region"],
    ["it is the start of a longer name", "end", "endpoint"],
    ["it is the start of a longer name in another case", "ENDP", "endpoint"],
  ])("if %s: %s", (_what, name, expected) => {
    expect(nearestName(name, ["endpoint", "region"])).toBe(expected);
  });

  test("is the closest of several, and of equally close ones the first", () => {
    expect(nearestName("timeoutMz", ["timeoutSx", "timeoutMs"])).toBe("timeoutMs");
    expect(nearestName("keyz", ["keyb", "keya"])).toBe("keyb");
  });

  test.each([
    ["is too far away", "colour", ["endpoint", "region"]],
    ["has two wrong letters of five", "abcde", ["abcxy"]],
    ["is two letters of a longer name", "en", ["endpoint"]],
    ["is longer than any name, and is cut off", `region${"x".repeat(100_000)}`, ["region"]],
    ["has nothing to be compared with", "region", []],
  ])("is none if the name %s", (_what, name, known) => {
    expect(nearestName(name, known)).toBeUndefined();
  });

  test.each([
    ["abcdef", "abcdxy", true],
    ["abcdef", "abcxyz", false],
    ["abcdef", "cdef", true],
    ["abcdef", "def", false],
    ["abcdef", "xyabcdef", true],
    ["abcdef", "xyzabcdef", false],
    ["abcdefghi", "abcdefxyz", true],
  ])("a third of the letters of %s may be wrong: %s is near is %s", (name, known, near) => {
    expect(nearestName(name, [known])).toBe(near ? known : undefined);
  });
});
