import { describe, expect, test } from "vitest";
import { excerpt, quoted } from "../../src/check/excerpt.ts";
import type { CheckFinding, Severity } from "../../src/check/report.ts";
import { isBroken, limited, verdictOf } from "../../src/check/report.ts";
import { changed, check, differences, judged, EC_KEY, NOW, op } from "./support/op.ts";
import type { Op, Reply } from "./support/op.ts";

// What a rule says at its limit, and one step beyond it.

const DAY_SECONDS = 86_400;

const answering = (change: (reply: Reply) => Reply): Op => changed(op(), ({ url }) => url.endsWith("/jwks"), change);
const dated = (seconds: number): Op => op({ headers: { date: new Date(NOW + seconds * 1000).toUTCString() } });
const caching = (value: string, more: Reply["headers"] = {}): Op =>
  op({ headers: { "cache-control": value, ...more } });
const endingIn = (seconds: number): Op => op({ tls: { validUntil: NOW + seconds * 1000 } });
const taking = (tookMs: number): Op => answering((reply) => ({ ...reply, tookMs }));
const bytes = (count: number): Op => op({ text: JSON.stringify({ keys: [EC_KEY] }).padEnd(count) });
const keys = (count: number): Op =>
  op({ keys: Array.from({ length: count }, (_, index) => ({ ...EC_KEY, kid: `sig-${index}` })) });
const kid = (length: number): Op => op({ keys: [{ ...EC_KEY, kid: "k".repeat(length) }] });

test.each<[rule: string, at: string, fine: readonly Op[], verdict: string, beyond: readonly Op[]]>([
  ["clock", "five minutes", [dated(300), dated(-300)], "note", [dated(301), dated(-301)]],
  ["certificate", "seven days", [endingIn(7 * DAY_SECONDS)], "note", [endingIn(7 * DAY_SECONDS - 1)]],
  ["time", "five seconds", [taking(5000)], "note", [taking(5001)]],
  ["size", "51,200 bytes", [bytes(51_200)], "note", [bytes(51_201)]],
  ["size", "64 keys", [keys(64)], "note", [keys(65)]],
  ["announcement", "a day", [caching(`max-age=${DAY_SECONDS}`)], "should", [caching(`max-age=${DAY_SECONDS + 1}`)]],
  ["age", "its lifetime", [caching("max-age=60", { age: "60" })], "should", [caching("max-age=60", { age: "61" })]],
  [
    "age",
    "its lifetime and its stale time",
    [caching("max-age=60, stale-while-revalidate=30", { age: "90" })],
    "should",
    [caching("max-age=60, stale-while-revalidate=30", { age: "91" })],
  ],
  [
    "age",
    "its lifetime in a shared cache",
    [caching("max-age=60, s-maxage=600", { age: "600" })],
    "must",
    [caching("max-age=60, s-maxage=600", { age: "601" })],
  ],
])("%s is fine at %s, and a finding beyond", async (rule, _at, fine, verdict, beyond) => {
  for (const server of fine) expect((await differences(server))[rule]).toBeUndefined();
  for (const server of beyond) {
    const { verdicts, words } = await judged(server);
    expect(verdicts[rule]).toBe(verdict);
    expect(words).toMatchSnapshot();
  }
});

test("the contract of Signpost has kids of up to 256 characters", async () => {
  expect((await differences(kid(256), { isStrict: true }))["signpost-body"]).toBeUndefined();
  expect((await differences(kid(257), { isStrict: true }))["signpost-body"]).toBe("must");
});

test("ages, clocks and times are shown in words", async () => {
  const shown = async (server: Op, rule: string) => {
    const row = (await check(server)).rows.find((one) => one.rule === rule);
    return [row?.seen, ...(row?.findings ?? []).map(({ seen }) => seen)].filter((text) => text !== "");
  };
  expect(await shown(dated(3600), "clock")).toEqual(["1 h ahead of this machine"]);
  expect(await shown(dated(-3600), "clock")).toEqual(["1 h behind this machine"]);
  expect(await shown(taking(6540), "time")).toEqual(["GET took 6.5 s"]);
  expect(await shown(endingIn(8.9 * DAY_SECONDS), "certificate")).toEqual(["valid for 8 days"]);
  expect(await shown(endingIn(6.9 * DAY_SECONDS), "certificate")).toEqual(["the certificate ends in 6 days"]);
});

describe("a 304 that says something else", () => {
  const is304 = ({ status }: Reply): boolean => status === 304;
  const with304 = (more: Reply["headers"], base: Op = op()): Op =>
    changed(
      base,
      ({ url }) => url.endsWith("/jwks"),
      (reply) => (is304(reply) ? { ...reply, headers: { ...reply.headers, ...more } } : reply),
    );
  const found = async (server: Op): Promise<readonly string[]> => {
    const row = (await check(server)).rows.find(({ rule }) => rule === "304-headers");
    return (row?.findings ?? []).map(({ severity, seen }) => `${severity}: ${seen}`);
  };

  test("is told with both values, and with nothing where the 200 has none", async () => {
    expect(await found(with304({}))).toEqual([]);
    expect(await found(with304({ "cache-control": "max-age=1" }))).toEqual([
      expect.stringMatching(/^should: cache-control: max-age=1 instead of public, max-age=3600/),
    ]);
    const silent = op({ headers: { "cache-control": undefined } });
    expect(await found(with304({ "cache-control": "max-age=1" }, silent))).toEqual([
      "should: cache-control: max-age=1 instead of nothing",
    ]);
  });

  test("is told what it lacks, and what it has of a body", async () => {
    expect(await found(with304({ "cache-control": undefined }))).toEqual(["must: no cache-control"]);
    expect(await found(with304({ "content-type": "application/json" }))).toEqual(["note: has content-type"]);
    const stray = changed(
      op(),
      ({ url }) => url.endsWith("/jwks"),
      (reply) => (is304(reply) ? { ...reply, strayBytes: 7 } : reply),
    );
    expect(await found(stray)).toEqual(["must: 7 bytes after the header"]);
  });
});

const finding = (severity: Severity, seen: string): CheckFinding => ({ severity, seen, advice: "Correct it." });

describe("the findings of one rule", () => {
  test.each<[severities: readonly Severity[], verdict: string]>([
    [[], "ok"],
    [["note"], "note"],
    [["note", "should", "note"], "should"],
    [["must", "should", "note"], "must"],
    [["should", "must"], "must"],
  ])("%j are %s", (severities, verdict) => {
    expect(verdictOf(severities.map((severity) => finding(severity, "it")))).toBe(verdict);
  });

  test("break it if they are must or should", () => {
    const row = { rule: "etag", title: "", clause: "", seen: "", findings: [] };
    const broken = (["ok", "note", "should", "must", "skipped"] as const).map((verdict) =>
      isBroken({ ...row, verdict }),
    );
    expect(broken).toEqual([false, false, true, true, false]);
  });

  test("are kept up to twenty", () => {
    const twenty = Array.from({ length: 20 }, (_, index) => finding("should", String(index)));
    expect(limited(twenty)).toBe(twenty);
  });

  test("are the worst nineteen of more, and a count of the others with the worst of their severities", () => {
    const many = [
      ...Array.from({ length: 3 }, (_, index) => finding("note", `note ${index}`)),
      ...Array.from({ length: 15 }, (_, index) => finding("should", `should ${index}`)),
      ...Array.from({ length: 6 }, (_, index) => finding("must", `must ${index}`)),
    ];
    const kept = limited(many);
    expect(kept).toHaveLength(20);
    expect(kept.map(({ severity }) => severity)).toEqual([
      ...Array.from({ length: 6 }, () => "must"),
      ...Array.from({ length: 14 }, () => "should"),
    ]);
    expect(kept.at(-1)).toMatchObject({ severity: "should", seen: "5 more findings like these" });
    expect(kept.slice(0, 7).map(({ seen }) => seen)).toEqual([
      ...Array.from({ length: 6 }, (_, index) => `must ${index}`),
      "should 0",
    ]);
  });
});

describe("text of a stranger", () => {
  test.each<[what: string, text: string, limit: number | undefined, shown: string]>([
    ["up to 120 characters", "x".repeat(120), undefined, "x".repeat(120)],
    ["longer", "x".repeat(121), undefined, `${"x".repeat(120)}…`],
    ["up to its limit", "abc", 3, "abc"],
    ["beyond its limit", "abcd", 3, "abc…"],
    ["of characters with two code units", "😀😀😀", 3, "😀😀😀"],
    ["of one more of them", "😀😀😀😀", 3, "😀😀😀…"],
    ["with half a pair", "a\ud83d", 3, "a\\u{d83d}"],
    ["with characters that are not seen", "a\u200db\u00ad", 9, "a\\u{200d}b\\u{ad}"],
    ["that is empty", "", 3, ""],
  ])("%s", (_what, text, limit, shown) => {
    expect(limit === undefined ? excerpt(text) : excerpt(text, limit)).toBe(shown);
    expect(limit === undefined ? quoted(text) : quoted(text, limit)).toBe(`"${shown}"`);
  });
});
