import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { diffOf, diffText, NO_COLORS } from "../../src/rotate/change/diff.ts";
import { applyEdits, planEdits, requireValue, type JsonChange } from "../../src/rotate/change/json-edit.ts";

const ADDED = { keyId: "new", signer: "local:new.pem" };
const APPEND: JsonChange = { kind: "append", list: ["keys", "entries"], value: ADDED };

async function edited(text: string, ...changes: readonly JsonChange[]): Promise<string> {
  return applyEdits(text, await planEdits(text, changes));
}

describe("a new item looks like the one before it", () => {
  test.each([
    [
      "an item on one line",
      '{\n  "keys": { "entries": [\n    { "keyId": "a" }\n  ] }\n}\n',
      '{\n  "keys": { "entries": [\n    { "keyId": "a" },\n    { "keyId": "new", "signer": "local:new.pem" }\n  ] }\n}\n',
    ],
    [
      "a member on each line, with tabs",
      '{\n\t"keys": {\n\t\t"entries": [\n\t\t\t{\n\t\t\t\t"keyId": "a"\n\t\t\t}\n\t\t]\n\t}\n}',
      '{\n\t"keys": {\n\t\t"entries": [\n\t\t\t{\n\t\t\t\t"keyId": "a"\n\t\t\t},\n\t\t\t{\n\t\t\t\t"keyId": "new",\n\t\t\t\t"signer": "local:new.pem"\n\t\t\t}\n\t\t]\n\t}\n}',
    ],
    [
      "lines that end as on Windows",
      '{\r\n  "keys": { "entries": [\r\n    {\r\n      "keyId": "a"\r\n    }\r\n  ] }\r\n}\r\n',
      '{\r\n  "keys": { "entries": [\r\n    {\r\n      "keyId": "a"\r\n    },\r\n    {\r\n      "keyId": "new",\r\n      "signer": "local:new.pem"\r\n    }\r\n  ] }\r\n}\r\n',
    ],
    [
      "no white space at all",
      '{"keys":{"entries":[{"keyId":"a"}]}}',
      '{"keys":{"entries":[{"keyId":"a"},{"keyId":"new","signer":"local:new.pem"}]}}',
    ],
    [
      "one line with spaces",
      '{ "keys": { "entries": [{"keyId": "a"}, {"keyId": "b"}] } }',
      '{ "keys": { "entries": [{"keyId": "a"}, {"keyId": "b"}, {"keyId": "new", "signer": "local:new.pem"}] } }',
    ],
  ])("%s", async (_name, before, after) => {
    expect(await edited(before, APPEND)).toBe(after);
  });
});

test("a schedule takes the place of a list, and is written as the rest of the file", async () => {
  const before = '{\n    "issuer": "https://op.example",\n    "keys": [{ "keyId": "a" }],\n    "adapters": {}\n}\n';
  const value = { maxTokenLifetimeSeconds: 60, entries: [{ keyId: "a" }, { keyId: "b" }] };
  expect(await edited(before, { kind: "replace", path: ["keys"], value })).toBe(
    [
      "{",
      '    "issuer": "https://op.example",',
      '    "keys": {',
      '        "maxTokenLifetimeSeconds": 60,',
      '        "entries": [',
      '            { "keyId": "a" },',
      '            { "keyId": "b" }',
      "        ]",
      "    },",
      '    "adapters": {}',
      "}",
      "",
    ].join("\n"),
  );
});

/** Texts of the same value that people and programs write. */
function layouts(value: object): readonly string[] {
  const spaced = JSON.stringify(value, undefined, 2);
  const inline = spaced.replaceAll(/\n\s+("keyId"|"signer"|"activeFrom")/g, " $1");
  return [
    JSON.stringify(value),
    JSON.stringify(value, undefined, "\t"),
    spaced,
    spaced.replaceAll("\n", "\r\n"),
    inline,
  ];
}

test("whatever the layout, the text says what it should, and every other line stays as it is", async () => {
  const entry = fc.record(
    { keyId: fc.string(), signer: fc.string(), activeFrom: fc.string() },
    { requiredKeys: ["keyId"] },
  );
  const entries = fc.array(entry, { minLength: 2, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(entries, fc.nat(), fc.nat(), fc.string(), fc.nat(4), async (list, remove, set, date, layout) => {
      const value = { before: [1, { x: "entries" }], keys: { entries: list, n: 1 }, after: "}]" };
      const text = layouts(value)[layout] ?? "";
      const removed = remove % list.length;
      const changed = (removed + 1 + (set % (list.length - 1))) % list.length;
      const changes: readonly JsonChange[] = [
        { kind: "remove", list: ["keys", "entries"], index: removed },
        { kind: "set", object: ["keys", "entries", changed], name: "activeFrom", value: date },
        ...(removed === list.length - 1 ? [] : [APPEND]),
      ];
      const after = await edited(text, ...changes);
      const expected = [
        ...list.map((item, index) => (index === changed ? { ...item, activeFrom: date } : item)),
        ...(removed === list.length - 1 ? [] : [ADDED]),
      ].filter((_, index) => index !== removed);
      requireValue(after, { ...value, keys: { entries: expected, n: 1 } });
      const start = text.indexOf('"entries"', text.indexOf('"keys"'));
      const end = text.length - text.lastIndexOf("]", text.lastIndexOf('"n"'));
      expect(after.slice(0, start)).toBe(text.slice(0, start));
      expect(after.slice(-end)).toBe(text.slice(-end));
    }),
    { numRuns: 300 },
  );
});

test("a text that does not say what it should is never written", () => {
  expect(() => requireValue('{"a":1}', { a: 2 })).toThrow("does not say what it should");
});

test("a diff has the lines that change, and two around them", async () => {
  const text = `{\n  "keys": {\n    "entries": [\n${["a", "b", "c", "d"].map((keyId) => `      { "keyId": "${keyId}" }`).join(",\n")}\n    ]\n  }\n}\n`;
  const changes: readonly JsonChange[] = [
    { kind: "remove", list: ["keys", "entries"], index: 1 },
    { kind: "set", object: ["keys", "entries", 3], name: "activeFrom", value: "2026" },
  ];
  expect(diffText("c.json", diffOf(text, await planEdits(text, changes)), NO_COLORS)).toEqual([
    "@@ c.json line 3",
    '     "entries": [',
    '       { "keyId": "a" },',
    '-      { "keyId": "b" },',
    '       { "keyId": "c" },',
    '-      { "keyId": "d" }',
    '+      { "keyId": "d", "activeFrom": "2026" }',
    "     ]",
    "   }",
  ]);
});

test.each([
  ["a line before one that stays", "qr", "Xqr", "+X  q  r"],
  ["lines around one that stays", "qr", "XqY", "+X  q -r +Y"],
  ["a line that goes before one that stays", "pqr", "qX", "-p  q -r +X"],
  ["the longest part that stays", "abcab", "bcabX", "-a  b  c  a  b +X"],
  ["a longer part that stays before a nearer one", "xabcdz", "axbcdZ", "-x  a +x  b  c  d -z +Z"],
  ["nothing that stays", "ab", "XY", "-a -b +X +Y"],
])("a diff shows %s", (_what, old, fresh, expected) => {
  const edit = { offset: 0, length: 2 * old.length - 1, content: [...fresh].join("\n") };
  const shown = diffOf([...old].join("\n"), [edit]).flatMap(({ lines }) => lines.map(({ mark, text }) => mark + text));
  expect(shown.join(" ")).toBe(expected);
});

test("a change of thousands of lines is not compared line by line: all old lines come first, then all new ones", async () => {
  const lines = Array.from({ length: 1200 }, (_, index) => `      "${index}"`);
  const text = `{\n  "keys": [\n${lines.join(",\n")}\n  ],\n  "after": 1\n}\n`;
  const value = { n: 1, entries: [["first"], ...lines.map((_, index) => String(index))] };
  const [hunk] = diffOf(text, await planEdits(text, [{ kind: "replace", path: ["keys"], value }]));
  expect(hunk?.lines.map(({ mark }) => mark).join("")).toMatch(/^ -{1202}\+{1200,} {2}$/);
});
