import { describe, expect, it } from "vitest";
import type { Answer, HeaderLine } from "../../src/check/exchange.ts";
import { dateOf, directSeconds, lifetimeOf, sharedSeconds } from "../../src/check/lifetime.ts";

const DATE = "Sun, 29 Nov 2026 00:00:00 GMT";

function answer(...headers: HeaderLine[]): Answer {
  return {
    kind: "answer",
    request: { method: "GET", url: "https://op.example/jwks", headers: {} },
    status: 200,
    headers,
    body: new Uint8Array(),
    isTruncated: false,
    strayBytes: 0,
    sentAt: Date.parse(DATE) + 5000,
    tookMs: 1,
    tls: undefined,
  };
}

describe("the lifetime of an answer", () => {
  it.each<[what: string, expires: string, seconds: number]>([
    ["IMF-fixdate", "Sun, 29 Nov 2026 01:00:00 GMT", 3600],
    ["RFC 850", "Sunday, 29-Nov-26 01:00:00 GMT", 3600],
    ["asctime, in GMT and not in the time zone of this machine", "Sun Nov 29 01:00:00 2026", 3600],
    ["a number of seconds", "3600", 0],
    ["a year", "200000", 0],
    ["another name of the zone", "Thu, 18 Aug 2050 02:01:18 UTC", 0],
    ["a missing comma", "Thu 18 Aug 2050 02:01:18 GMT", 0],
    ["another day of the week", "Sat, 29 Nov 2026 01:00:00 GMT", 0],
    ["an empty value", "", 0],
  ])("by Expires: %s", (_what, expires, seconds) => {
    expect(lifetimeOf(answer(["Expires", expires], ["Date", DATE])).freshFor).toBe(seconds);
  });

  it("by Expires without a valid Date counts from the request", () => {
    const expires: HeaderLine = ["Expires", "Sun, 29 Nov 2026 01:00:00 GMT"];
    expect(lifetimeOf(answer(expires)).freshFor).toBe(3595);
    expect(lifetimeOf(answer(expires, ["Date", "2026-11-29T00:00:00Z"])).freshFor).toBe(3595);
  });

  it("by Expires and Date that were sent twice is that of one", () => {
    const expires: HeaderLine = ["Expires", "Sun, 29 Nov 2026 01:00:00 GMT"];
    expect(lifetimeOf(answer(expires, expires, ["Date", DATE], ["date", DATE])).freshFor).toBe(3600);
  });
});

it.each<[value: string, seconds: number | undefined]>([
  ["public, MAX-AGE = 60", 60],
  ['max-age="60"', 60],
  ["max-age=6 0", 0],
  ["max-age=60; public", 0],
  ["public; max-age=60", undefined],
  ["no-store; no-cache", undefined],
  ["no-store x, max-age=60", 60],
  ['a="b, no-store", max-age=60', 60],
  ['a="b\\", no-store", max-age=60', 60],
  ['a="open, max-age=60, no-store', 0],
  ['a="open, no-cache="b, c", max-age=60', 0],
  ["a\\, no-store", 0],
  ['"no-store", max-age=60', 60],
  [", max-age=60,,", 60],
])("Cache-Control: %s", (value, seconds) => {
  expect(lifetimeOf(answer(["Cache-Control", value])).freshFor).toBe(seconds);
});

it.each<[value: string, seconds: number]>([
  ["10", 10],
  ["10, 20", 10],
  ["9".repeat(400), 2 ** 31],
  ["-1", 0],
  ["1.5", 0],
])("Age: %s", (value, seconds) => {
  expect(lifetimeOf(answer(["Age", value]))).toMatchObject({ age: seconds, isAgeStated: true });
});

it("an answer without Age has the age 0, which nothing states", () => {
  expect(lifetimeOf(answer(["Cache-Control", "max-age=60"]))).toMatchObject({ age: 0, isAgeStated: false });
});

it("a Date that is no HTTP-date says nothing", () => {
  expect(dateOf(answer(["Date", DATE]))).toBe(Date.parse(DATE));
  expect(dateOf(answer(["Date", "2026-11-29"]))).toBeUndefined();
});

it.each<[value: string, times: readonly (number | undefined)[], direct: number, shared: number]>([
  ["max-age=60", [60, 60, 0], 60, 120],
  ["max-age=60, s-maxage=600", [60, 600, 0], 60, 660],
  ["s-maxage=600", [undefined, 600, 0], 0, 600],
  ["private, max-age=60", [60, 0, 0], 60, 60],
  ["private, max-age=60, s-maxage=600", [60, 0, 0], 60, 60],
  ["max-age=60, stale-while-revalidate=30", [60, 60, 30], 90, 180],
  ["max-age=60, stale-while-revalidate=30, must-revalidate", [60, 60, 0], 60, 120],
  ["max-age=60, stale-while-revalidate=30, no-cache", [0, 0, 0], 0, 0],
  ["max-age=60, stale-while-revalidate=30, no-store", [0, 0, 0], 0, 0],
  ["max-age=60, stale-while-revalidate=1, stale-while-revalidate=2", [60, 60, 0], 60, 120],
  ["max-age=60, stale-while-revalidate", [60, 60, 0], 60, 120],
  ["s-maxage=0, max-age=60", [60, 0, 0], 60, 60],
  ["max-age=2147483648", [2 ** 31, 2 ** 31, 0], 2 ** 31, 2 ** 32],
  ["max-age=2147483649", [2 ** 31, 2 ** 31, 0], 2 ** 31, 2 ** 32],
  ["public", [undefined, undefined, 0], 0, 0],
  ["", [undefined, undefined, 0], 0, 0],
])(
  "Cache-Control: %s keeps a copy by itself, in a shared cache and while it is stale for %j",
  (value, times, direct, shared) => {
    const lifetime = lifetimeOf(answer(["Cache-Control", value]));
    expect([lifetime.freshFor, lifetime.sharedFreshFor, lifetime.staleFor]).toEqual(times);
    expect([directSeconds(lifetime), sharedSeconds(lifetime)]).toEqual([direct, shared]);
  },
);

it.each<[value: string, directives: Readonly<Record<string, readonly string[]>>, unreadable: readonly string[]]>([
  ['a, B=c, b="d, e"', { a: [""], b: ["c", "d, e"] }, []],
  ["a = b, c= , d=", { a: ["b"], c: [""], d: [""] }, []],
  ["a b, (c), d=e f", { d: ["e f"] }, ["a b", "(c)"]],
  ["", {}, []],
])("Cache-Control: %s has directives, and what caches ignore", (value, directives, unreadable) => {
  const read = lifetimeOf(answer(["Cache-Control", value]));
  expect([Object.fromEntries(read.directives), read.unreadable]).toEqual([directives, unreadable]);
});
