import { isDeepStrictEqual } from "node:util";
import { ADAPTERS, keyUriScheme } from "../../../packages/cli/src/keys/adapters.ts";
import { certifiedKeyOf } from "../../../packages/cli/src/config/certified-key.ts";
import { configMistakes, readConfig, readSchedule, scheduleMistakes } from "../../../packages/cli/src/config/config.ts";
import { decodeText, parseJson } from "../../../packages/cli/src/config/load-file.ts";
import { readJson } from "../../../packages/cli/src/program/json.ts";
import { diffOf, diffText, NO_COLORS } from "../../../packages/cli/src/rotate/change/diff.ts";
import {
  applyEdits,
  planEdits,
  requireValue,
  type JsonChange,
} from "../../../packages/cli/src/rotate/change/json-edit.ts";
import { instantOf, instantText } from "../../../packages/cli/src/rotate/timeline/instants.ts";
import { exposition } from "../../../packages/cli/src/serve/metrics/exposition.ts";
import { html } from "../../../packages/cli/src/serve/status/html.ts";
import { printable, printableLines } from "../../../packages/cli/src/terminal/printable.ts";
import { type Target, must, mustEqual } from "../engine/target.ts";
import { EC_PUBLIC, jsonOr, utf8 } from "./material.ts";

const CONFIG = {
  issuer: "https://op.example",
  keys: {
    entries: [
      {
        keyId: "a",
        signer: "awskms:///alias/op",
        announcedFrom: "2026-01-01T00:00:00Z",
        activeFrom: "2026-01-02T00:00:00Z",
      },
      {
        publicKey: EC_PUBLIC,
        announcedFrom: "2026-01-01T00:00:00Z",
        activeFrom: "2026-02-02T00:00:00Z",
        certificates: { chain: "file:a.pem" },
      },
    ],
    maxTokenLifetimeSeconds: 3600,
  },
  adapters: { pkcs11: { module: "/m", pin: "env:PIN" }, vault: {} },
};
const LIST = {
  issuer: "https://op.example",
  keys: [{ signer: "local:" }],
  encryptionKeyset: [{ publicKey: EC_PUBLIC }],
};
const SHOWS_PLACE = "the configuration is the operator's own: names of its members are shown";

export const CLI_DOCUMENTS: readonly Target[] = [
  {
    name: "cli-json",
    parsers: ["cli/program/json.ts", "cli/config/load-file.ts"],
    says: "accepts what JSON.parse accepts, without a name twice in one object",
    structure: "json",
    seeds: [
      JSON.stringify(CONFIG, undefined, 2),
      JSON.stringify(LIST),
      '{"a":1,"a":2}',
      '{"__proto__":1}',
      "[1,2,]",
      "// a\n1",
      "\u00a01",
      "1e999",
      '"\\ud800"',
      "\ufeff{}",
    ],
    words: ["//", "/*", "*/", ",", "\u00a0", "\ufeff", "\\u00", "1e5", "-", "'", '"a":'],
    async check(input, probe) {
      const text = utf8(input);
      const read = await readJson(text);
      const known = parsedByNode(text);
      if ("value" in read) {
        must(known !== undefined, "what is read is JSON");
        mustEqual(read.value, known.value, "the value is that of JSON.parse");
        return "read";
      }
      must(
        known === undefined || read.repeated !== undefined || read.fault.includes("few levels"),
        `JSON is read: ${read.fault}`,
      );
      must(read.line >= 1 && read.column >= 1 && read.line <= text.split("\n").length, "the place is in the text");
      const loaded = await probe.settle(() => parseJson(text, "signpost.config.json"), { mayShow: SHOWS_PLACE });
      must(!loaded.ok, "a file that is no JSON is refused");
      return read.fault;
    },
  },
  {
    name: "cli-config",
    parsers: ["cli/config/config.ts", "cli/config/load-file.ts", "cli/config/certified-key.ts"],
    says: "refuses each unknown member, and the list of mistakes begins with the one that is thrown",
    structure: "json",
    seeds: [CONFIG, CONFIG.keys, LIST].map((config) => JSON.stringify(config)),
    words: [
      "issuer",
      "keys",
      "entries",
      "signer",
      "adapters",
      "pkcs11",
      "awskms",
      "local",
      "$schema",
      "publish",
      "sharedCaches",
    ],
    check(input, probe) {
      const text = probe.attempt(() => decodeText(input, "signpost.config.json"));
      const value = jsonOr(input);
      const rules = { mayShow: SHOWS_PLACE };
      const outcomes = (
        [
          [readConfig, configMistakes],
          [readSchedule, scheduleMistakes],
        ] as const
      ).map(([read, mistakesIn]) => {
        const found = probe.attempt(() => read(value) as unknown, rules);
        const mistakes = mistakesIn(value);
        mustEqual(
          mistakes[0]?.message ?? "none",
          found.ok ? "none" : found.error.message,
          "the first mistake is the one that is thrown",
        );
        return found.outcome;
      });
      const chain: unknown = Reflect.get(Object(value), "chain");
      must(certifiedKeyOf({ chain }) === undefined || chain !== undefined, "a key is that of a certificate");
      return `${text.ok}/${outcomes.join("/")}`;
    },
  },
  {
    name: "cli-json-edit",
    parsers: ["cli/rotate/change/json-edit.ts", "cli/rotate/change/json-style.ts", "cli/rotate/change/diff.ts"],
    says: "an edited file says what it should, and keeps everything else byte for byte",
    structure: "json",
    seeds: [
      JSON.stringify(CONFIG, undefined, 2),
      JSON.stringify(CONFIG),
      JSON.stringify(CONFIG, undefined, "\t").replaceAll("\n", "\r\n"),
      JSON.stringify({ keys: { entries: [[1], {}, "x"] } }, undefined, 1),
    ],
    words: ["\r\n", "\t", " ", "\n", "entries", "-0", "1e999"],
    async check(input) {
      const text = utf8(input);
      const read = await readJson(text);
      const value = "value" in read ? (read.value as typeof CONFIG | null) : undefined;
      const entries: unknown = Reflect.get(Object(Reflect.get(Object(value), "keys")), "entries");
      if (!Array.isArray(entries) || entries.length === 0) return "no list";
      const item = { keyId: "é\u2028", list: [1, { a: [] }], empty: {} };
      const list = ["keys", "entries"];
      const changes: (readonly [JsonChange, readonly unknown[]])[] = [
        [{ kind: "append", list, value: item }, [...entries, item]],
        [{ kind: "remove", list, index: entries.length - 1 }, entries.slice(0, -1)],
        [{ kind: "remove", list, index: 0 }, entries.slice(1)],
        [{ kind: "replace", path: [...list, 0], value: item }, entries.with(0, item)],
      ];
      const isObject =
        typeof entries[0] === "object" &&
        entries[0] !== null &&
        !Array.isArray(entries[0]) &&
        Object.keys(entries[0] as object).length > 0;
      const set: JsonChange = { kind: "set", object: [...list, 0], name: "emergencyAt", value: "2026" };
      if (isObject) changes.push([set, entries.with(0, { ...(entries[0] as object), emergencyAt: "2026" })]);
      for (const [change, expected] of changes) {
        const edits = await planEdits(text, [change]);
        const edited = applyEdits(text, edits);
        const said: unknown = JSON.parse(edited);
        const found: unknown = Reflect.get(Object(Reflect.get(Object(said), "keys")), "entries");
        must(
          isDeepStrictEqual(asWritten(found), asWritten(expected)),
          `after ${change.kind}, the list is what it should be`,
        );
        requireValue(edited, {
          ...(value as object),
          keys: { ...Object(Reflect.get(Object(value), "keys")), entries: expected },
        });
        const [edit] = edits;
        must(
          edit !== undefined &&
            edited.startsWith(text.slice(0, edit.offset)) &&
            edited.endsWith(text.slice(edit.offset + edit.length)),
          "everything else stays",
        );
        must(diffText("a.json", diffOf(text, edits), NO_COLORS).length > 0, "a change is shown");
      }
      return `${isObject}/${Math.min(3, entries.length)}/${text.includes("\n")}`;
    },
    share: 0.3,
  },
  {
    name: "cli-key-scheme",
    parsers: ["cli/keys/adapters.ts"],
    says: "accepts the schemes of adapters, and no URI with a PIN",
    structure: "text",
    seeds: [
      "pkcs11:token=a?pin-value=1234",
      "PKCS11:a",
      "awskms:///alias/op",
      "http://a",
      "pkcs11:object=a%3bpin-value%3d1",
    ],
    words: ["pkcs11:", "pin-value=", "pin_value =", "%3D", "%70in", ":"],
    check(input, probe) {
      const uri = utf8(input);
      const scheme = probe.attempt(() => keyUriScheme(uri));
      if (!scheme.ok) return scheme.outcome;
      must(
        Object.hasOwn(ADAPTERS, scheme.value) && uri.toLowerCase().startsWith(`${scheme.value}:`),
        "the scheme is that of an adapter",
      );
      must(scheme.value !== "pkcs11" || !/pin-value=/i.test(uri), "a URI that may be printed has no PIN");
      return scheme.value;
    },
  },
  {
    name: "cli-instant",
    parsers: ["cli/rotate/timeline/instants.ts"],
    says: "a time that is written is the same time",
    structure: "text",
    seeds: ["2026-07-01T08:00:00Z", "2026-07-01T08:00:00.5+02:00", "tomorrow"],
    check(input, probe) {
      const read = probe.attempt(() => instantOf("--at", utf8(input)));
      if (!read.ok || read.value === undefined) return read.outcome;
      mustEqual(instantOf("--at", instantText(read.value)), read.value, "the time is the same");
      return "time";
    },
  },
  {
    name: "cli-terminal",
    parsers: ["cli/terminal/printable.ts", "cli/serve/status/html.ts", "cli/serve/metrics/exposition.ts"],
    says: "no text changes a terminal, a page or a line of metrics",
    structure: "text",
    seeds: ["\u001b[31mred", "a\nb", "<script>\"'&", "\u202eabc", 'x\\"\n# HELP', "\u0085\u2028\u200f"],
    words: ["\u001b]8;;", "<", ">", "&", '"', "'", "\n", "\r", "\\", "\u0007", "{", "}"],
    check(input) {
      const text = utf8(input);
      must(!/[\p{Cc}\u2028\u2029\u202a-\u202e]/u.test(printable(text)), "what is printed has no control characters");
      must(!/[\p{Cc}\u2028\u2029]/u.test(printableLines(text).replaceAll("\n", "")), "lines have none either");
      const { markup } = html`<p title="${text}">${text}</p>`;
      must(/^<p title="[^"<>]*">[^<>]*<\/p>$/.test(markup), "a text opens no element, and ends no attribute");
      const metrics = exposition([
        { name: "a", type: "gauge", help: text, samples: [{ labels: { kid: text }, value: 1 }] },
      ]);
      must(metrics.split("\n").length === 4 && metrics.endsWith("} 1\n"), "a sample has one line");
      const label = /^a\{kid="((?:[^"\\\n]|\\["\\n])*)"\} 1$/.exec(metrics.split("\n")[2] ?? "")?.[1];
      must(label !== undefined, "a label is one quoted text");
      mustEqual(
        label.replaceAll(/\\(.)/g, (_, escaped: string) => (escaped === "n" ? "\n" : escaped)),
        text,
        "a label is read back as it was",
      );
      return printable(text) === text ? "plain" : "escaped";
    },
  },
];

function parsedByNode(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

/** -0 and 1e999 are not written as they were read. */
function asWritten(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value)) as unknown;
}
