import { createColors } from "picocolors";
import { describe, expect, test } from "vitest";
import { createOutput } from "../src/terminal/output.ts";
import { duration } from "../src/terminal/duration.ts";
import { printable, printableLines } from "../src/terminal/printable.ts";
import { tableText } from "../src/terminal/table.ts";

test.each([
  [0, "0 s"],
  [0.4, "0 s"],
  [0.5, "1 s"],
  [1, "1 s"],
  [59, "59 s"],
  [59.5, "1 min"],
  [60, "1 min"],
  [61, "1 min 1 s"],
  [3599, "59 min 59 s"],
  [3600, "1 h"],
  [3659, "1 h"],
  [3660, "1 h 1 min"],
  [86_399, "23 h 59 min"],
  [86_400, "1 d"],
  [90_000, "1 d 1 h"],
  [30 * 86_400, "30 d"],
])("%d seconds are %s", (seconds, text) => {
  expect(duration(seconds)).toBe(text);
});

describe("text from outside", () => {
  test.each([
    ["plain ü 日本", "plain ü 日本"],
    ["\u001b[31m", "\\u001b[31m"],
    ["a\nb\tc", "a\\u000ab\\u0009c"],
    ["\u2028\u2029", "\\u2028\\u2029"],
    ["\u061c\u200e\u200f", "\\u061c\\u200e\\u200f"],
    ["\u202a\u202e", "\\u202a\\u202e"],
    ["\u2066\u2069", "\\u2066\\u2069"],
    ["\u2065\u206a\u2029", "\u2065\u206a\\u2029"],
  ])("%j is shown as %j", (text, shown) => {
    expect(printable(text)).toBe(shown);
  });

  test("keeps its lines where lines are shown", () => {
    expect(printableLines("a\u001b\nb")).toBe("a\\u001b\nb");
  });
});

describe("the output", () => {
  const written: (string | Uint8Array)[] = [];
  const settings = { write: (text: string | Uint8Array) => void written.push(text), colors: createColors(false) };

  test.each([
    [undefined, 100],
    [0, 100],
    [1, 1],
    [119, 119],
    [120, 120],
    [121, 120],
  ])("of a terminal with %s columns has lines of %i characters", (columns, width) => {
    expect(createOutput({ ...settings, columns, isTerminal: true }).width).toBe(width);
  });

  test("writes lines and JSON that a terminal does not obey", () => {
    const output = createOutput({ ...settings, columns: 80, isTerminal: false });
    output.line("a");
    output.line();
    output.json({ a: ["\u001b", "\u2028"] });
    expect(written.splice(0)).toEqual(["a\n", "\n", '{\n  "a": [\n    "\\u001b",\n    "\\u2028"\n  ]\n}\n']);
    expect(output.isTerminal).toBe(false);
  });
});

describe("a table", () => {
  const colors = createColors(true);
  const text = (rows: readonly (readonly string[])[], width = 40): string => tableText(rows, { width, colors });

  test("has columns as wide as their widest cell, two characters apart", () => {
    expect(
      text([
        ["a", "bb", "c"],
        ["aaa", "b", "ccc"],
      ]),
    ).toBe("a    bb  c\naaa  b   ccc");
    expect(
      text([
        ["a", ""],
        ["", "b"],
      ]),
    ).toBe("a\n   b");
    expect(text([])).toBe("");
  });

  test("gives a color no width", () => {
    expect(
      text([
        [colors.red("a"), "b"],
        ["aa", "b"],
      ]),
    ).toBe(`${colors.red("a")}   b\naa  b`);
  });

  test("wraps the last column at the width of the terminal, and no narrower than 24 characters", () => {
    const words = "one two three four five six seven eight";
    expect(text([["a", words]], 31)).toBe("a  one two three four five six\n   seven eight");
    expect(text([["a".repeat(20), words]], 30)).toBe(
      `${"a".repeat(20)}  one two three four five\n${" ".repeat(22)}six seven eight`,
    );
  });

  test("continues a long word on the next line, and keeps the lines of a cell", () => {
    expect(text([["a", "x".repeat(30)]], 27)).toBe(`a  ${"x".repeat(24)}\n   ${"x".repeat(6)}`);
    expect(text([["a", "b\nc"]])).toBe("a  b\n   c");
  });
});
