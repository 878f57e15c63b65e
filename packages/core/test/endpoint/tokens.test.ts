import { expect, test } from "vitest";
import { splitTokens, trimWhitespace } from "../../src/endpoint/tokens.ts";

// Lists of tokens in headers (RFC 9110 section 5.6.1).

test.each<[list: string, tokens: readonly string[]]>([
  ["a", ["a"]],
  ["a,b", ["a", "b"]],
  [" a\t,\t b ", ["a", "b"]],
  [",a,, ,b,", ["a", "b"]],
  ["If-None-Match, X-1", ["If-None-Match", "X-1"]],
  ["!#$%&'*+-.^_`|~09azAZ", ["!#$%&'*+-.^_`|~09azAZ"]],
])("%j has the tokens %j", (list, tokens) => {
  expect(splitTokens(list)).toEqual(tokens);
});

test.each([
  "",
  " ",
  ",",
  " , ",
  "a b",
  "a,b c",
  "(a)",
  "a)",
  "é",
  "éa",
  "aé",
  '"a"',
  "a:",
  "a\n",
  "\na",
  "a\u00a0",
  "a/b",
])("%j is no list of tokens", (list) => {
  expect(splitTokens(list)).toBeUndefined();
});

test.each<[text: string, from: number, to: number, expected: string]>([
  ["abc", 0, 3, "abc"],
  [" \ta b\t ", 0, 7, "a b"],
  ["xx ab yy", 2, 6, "ab"],
  ["xx ab yy", 1, 7, "x ab y"],
  ["   ", 0, 3, ""],
  ["a", 0, 0, ""],
  [" a ", 1, 2, "a"],
  ["\u00a0a\n", 0, 3, "\u00a0a\n"],
])("of %j from %d to %d, %j is left without white space at its ends", (text, from, to, expected) => {
  expect(trimWhitespace(text, from, to)).toBe(expected);
});
