import { parseTree, type Node } from "jsonc-parser";
import { describe, expect, test } from "vitest";
import { applyEdits, planEdits, requireValue, type JsonChange } from "../../src/rotate/change/json-edit.ts";
import { itemStyle, writeItem, writeMember, type JsonStyle } from "../../src/rotate/change/json-style.ts";

// How a file is written, and how its parts are added, removed and replaced so that the rest stays as it is.

/** The style of the last item of the list `a`, or of the value of `a`. */
function styleIn(text: string): JsonStyle {
  const value = parseTree(text)?.children?.[0]?.children?.[1] as Node;
  return itemStyle(text, value.type === "array" ? (value.children?.at(-1) ?? value) : value);
}

describe("the style of an item", () => {
  test.each<[what: string, text: string, style: Partial<JsonStyle>]>([
    [
      "is that of a minified text",
      '{"a":[{"b":1}]}',
      { isInline: true, isOneLine: true, pad: "", brace: "", indent: "" },
    ],
    ["has a space after commas alone", '{"a":[{"b":1}, {"c":2}]}', { pad: " ", brace: "" }],
    ["has a space after colons alone", '{"a":[{"b": 1}]}', { pad: " ", brace: "" }],
    ["has no space inside of braces, whatever its members have", '{"a": [{"b": { "c": 1 }}]}', { pad: " ", brace: "" }],
    ["has a space inside of braces", '{"a": [{ "b": 1 }]}', { pad: " ", brace: " " }],
    ["is that of one line, whatever is around it", '\n{"a":[{"b":1}]}\n\n', { isOneLine: true, isInline: true }],
    [
      "has the line of the item",
      '{\n  "a": [\n      {"b": 1}\n  ]\n}',
      { isInline: true, isOneLine: false, indent: "      ", unit: "  " },
    ],
    [
      "has the step of the item, where the file has another",
      '{\n  "a": [\n  {\n      "b": 1\n  }\n  ]\n}',
      { isInline: false, indent: "  ", unit: "    " },
    ],
    [
      "has the step of the file, where the item has none",
      '{\n   "a": [\n      {\n      "b": 1\n      }\n   ]\n}',
      { isInline: false, indent: "      ", unit: "   " },
    ],
    [
      "has the step of the file, where the item has other white space",
      '{\n  "a": [\n\t{\n  "b": 1\n\t}\n  ]\n}',
      { indent: "\t", unit: "  " },
    ],
    ["has two spaces where nothing is indented", '{"a": [\n{"b": 1}\n]}', { indent: "", unit: "  ", isOneLine: false }],
    ["has the ends of lines of Windows", '{\r\n\t"a": [1]\r\n}', { eol: "\r\n", unit: "\t", brace: " " }],
    ["has the ends of lines of other systems", '{\n\t"a": [1]\n}', { eol: "\n", unit: "\t" }],
  ])("%s", (_what, text, style) => {
    expect(styleIn(text)).toMatchObject(style);
  });
});

describe("a value is written", () => {
  const minified = styleIn('{"a":[{"b":1}]}');
  const spaced = styleIn('{"a": [{ "b": 1 }]}');
  const short = styleIn('{\n "a": [\n  { "b": 1 }\n ]\n}');
  const long = styleIn('{\n "a": [\n  {\n   "b": 1\n  }\n ]\n}');
  const windows = styleIn('{\r\n "a": [\r\n  {\r\n   "b": 1\r\n  }\r\n ]\r\n}');

  test.each<[what: string, value: unknown, style: JsonStyle, text: string]>([
    ["minified", { k: "a", l: [1, { m: null }], n: {} }, minified, '{"k":"a","l":[1,{"m":null}],"n":{}}'],
    ["on a line", { k: "a", l: [1, 2] }, spaced, '{ "k": "a", "l": [1, 2] }'],
    ["on a line of several", { k: "a", m: { n: 1 } }, short, '{ "k": "a", "m": { "n": 1 } }'],
    ["without what is undefined", { k: undefined, l: 1 }, minified, '{"l":1}'],
    ["without what is undefined, on lines", { k: undefined, l: 1 }, long, '{\n   "l": 1\n  }'],
    ["on lines if it has a list", { k: [{ l: 1 }, 2] }, short, '{\n   "k": [\n    { "l": 1 },\n    2\n   ]\n  }'],
    ["on lines if it is a list", ["a"], short, '[\n   "a"\n  ]'],
    ["on lines, all of it", { k: { l: 1 }, m: [] }, long, '{\n   "k": {\n    "l": 1\n   },\n   "m": []\n  }'],
    ["on lines of Windows", { k: 1, l: 2 }, windows, '{\r\n   "k": 1,\r\n   "l": 2\r\n  }'],
    ["if it is empty", {}, long, "{}"],
    ["if it is empty, on a line", {}, spaced, "{}"],
    ["if it is a list without items", [], short, "[]"],
    ["if it is text", "a", long, '"a"'],
    ["if it is null", null, long, "null"],
    ["if it is null, on a line", null, minified, "null"],
  ])("%s", (_what, value, style, text) => {
    expect(writeItem(value, style)).toBe(text);
  });

  test.each([
    [minified, '"k":"a"'],
    [spaced, '"k": "a"'],
  ])("as a member", (style, text) => {
    expect(writeMember("k", "a", style)).toBe(text);
  });
});

describe("a text is changed", () => {
  const edited = async (text: string, ...changes: readonly JsonChange[]): Promise<string> =>
    applyEdits(text, await planEdits(text, changes));
  const list = ["a"];

  test.each<[what: string, before: string, change: JsonChange, after: string]>([
    ["without its first item", '{"a": [1, 2, 3]}', { kind: "remove", list, index: 0 }, '{"a": [2, 3]}'],
    ["without an item inside", '{"a": [1, 2, 3]}', { kind: "remove", list, index: 1 }, '{"a": [1, 3]}'],
    ["without its last item", '{"a": [1, 2, 3]}', { kind: "remove", list, index: 2 }, '{"a": [1, 2]}'],
    ["without its only item", '{"a": [ 1 ]}', { kind: "remove", list, index: 0 }, '{"a": [  ]}'],
    [
      "with an item after one without white space",
      '{"a":[1 ]}',
      { kind: "append", list, value: { b: 2 } },
      '{"a":[1,{"b":2} ]}',
    ],
    [
      "with an item after the white space of the others",
      '{"a": [1,  2]}',
      { kind: "append", list, value: { b: 2 } },
      '{"a": [1,  2,  {"b": 2}]}'.replace('{"b": 2}', '{ "b": 2 }'),
    ],
    [
      "with an item after the white space of the only one",
      '{"a": [ 1]}',
      { kind: "append", list, value: { b: 2 } },
      '{"a": [ 1, { "b": 2 }]}',
    ],
    ["with another value", '{"a": [1]}', { kind: "replace", path: ["a", 0], value: "b" }, '{"a": ["b"]}'],
    [
      "with another value of a member",
      '{"a": {"b": "c", "d": 1}}',
      { kind: "set", object: ["a"], name: "b", value: "e" },
      '{"a": {"b": "e", "d": 1}}',
    ],
    [
      "with a new member",
      '{"a": {"b": "c"}}',
      { kind: "set", object: ["a"], name: "d", value: "e" },
      '{"a": {"b": "c", "d": "e"}}',
    ],
    [
      "with a new member after the white space of the others",
      '{"a": {"b": "c",\n  "f": 1}}',
      { kind: "set", object: ["a"], name: "d", value: "e" },
      '{"a": {"b": "c",\n  "f": 1,\n  "d": "e"}}',
    ],
  ])("%s", async (_what, before, change, after) => {
    expect(await edited(before, change)).toBe(after);
  });

  test("at several places at once, in any order", async () => {
    const set = (name: string): JsonChange => ({ kind: "set", object: ["a"], name, value: "x" });
    const before = '{"a": {"b": "long text", "c": "d"}}';
    expect(await edited(before, set("b"), set("c"))).toBe('{"a": {"b": "x", "c": "x"}}');
    expect(await edited(before, set("c"), set("b"))).toBe('{"a": {"b": "x", "c": "x"}}');
  });

  test.each<[what: string, text: string, change: JsonChange, message: string]>([
    [
      "has nothing at the path",
      '{"a": 1}',
      { kind: "append", list: ["b", "c"], value: {} },
      "the text has nothing at b.c",
    ],
    ["is empty", "", { kind: "replace", path: ["a"], value: 1 }, "the text has nothing at a"],
    ["has an empty list", '{"a": []}', { kind: "append", list, value: {} }, "the list is empty"],
    ["has no such item", '{"a": [1]}', { kind: "remove", list, index: 1 }, "the list has no item 1"],
    ["has an empty object", '{"a": {}}', { kind: "set", object: ["a"], name: "b", value: "c" }, "the object is empty"],
  ])("not if it %s", async (_what, text, change, message) => {
    await expect(planEdits(text, [change])).rejects.toThrow(new TypeError(message));
  });

  test.each([
    ['{"a": [1]}', { a: [1] }, true],
    ['{"a": -0, "b": 1e999}', { a: 0, b: null }, true],
    ['{"a": 1}', { a: 1, b: undefined }, true],
    ['{"a": 1}', { a: "1" }, false],
    ['{"a": 1}', { a: 1, b: 1 }, false],
  ])("%s says what %j means: %s", (text, value, isSame) => {
    const check = (): void => requireValue(text, value);
    if (isSame) expect(check).not.toThrow();
    else expect(check).toThrow(new TypeError("the edited text does not say what it should"));
  });
});
