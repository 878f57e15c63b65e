import { describe, expect, it } from "vitest";
import { observe } from "../../src/check/watch/observe.ts";
import { eventToJson, renderEvent } from "../../src/check/watch/render.ts";
import { nextMoment, observed, passed, WATCH_START } from "../../src/check/watch/state.ts";
import type { WatchEvent, WatchState } from "../../src/check/watch/state.ts";
import { createColors } from "picocolors";
import { changed, EC_KEY, ED_KEY, exchangeOf, JWKS_URI, LONG, NOW, op } from "./support/op.ts";
import type { Op } from "./support/op.ts";

const SHORT = "public, max-age=300, must-revalidate";
const HOUR = 3600;
const two = [EC_KEY, ED_KEY];
const away: Op = () => ({ reason: "connection", detail: "ECONNREFUSED" });

/** Looks at several OPs, each at its second. Returns the events, their times in seconds. */
function look(
  looks: readonly (readonly [second: number, server: Op])[],
  isStrict = false,
): { state: WatchState; events: readonly object[] } {
  let state = WATCH_START;
  const events: WatchEvent[] = [];
  for (const [second, server] of looks) {
    const exchange = exchangeOf(server, { method: "GET", url: JWKS_URI, headers: {} });
    const at = second * 1000;
    const step = observed(state, observe(exchange, at, { monotonic: at, wall: at }), isStrict);
    ({ state } = step);
    events.push(...step.events);
  }
  return { state, events: events.map(inSeconds) };
}

function inSeconds(event: WatchEvent): object {
  const divided = Object.entries(event).map(([name, value]: [string, unknown]) => [
    name,
    typeof value === "number" ? value / 1000 : value,
  ]);
  return Object.fromEntries(divided);
}

const lifetime = (value: string | undefined, keys: readonly unknown[] = [EC_KEY]): Op =>
  op({ keys, headers: { "cache-control": value } });

describe("when an announced key may sign", () => {
  it("counts from the last look without the key, with the lifetime that was told then", () => {
    const { events } = look([
      [0, op()],
      [30, lifetime(SHORT, two)],
    ]);
    expect(events).toEqual([
      { event: "watching", at: 0, keys: ["sig-1"], cacheControl: LONG },
      // 1 h and 1 h of staleness; behind a shared cache twice that.
      { event: "announced", at: 30, key: "ed-1", direct: 30 + 2 * HOUR, shared: 30 + 4 * HOUR },
      { event: "lifetime", at: 30, cacheControl: SHORT },
    ]);
  });

  it("takes the short lifetime where that is what was told", () => {
    const { events } = look([
      [0, lifetime(SHORT)],
      [30, lifetime(SHORT, two)],
    ]);
    expect(events[1]).toEqual({ event: "announced", at: 30, key: "ed-1", direct: 330, shared: 630 });
  });

  it("remembers a longer lifetime that was told earlier", () => {
    const { events } = look([
      [0, op()],
      [600, lifetime(SHORT)],
      [630, lifetime(SHORT, two)],
    ]);
    expect(events.at(-1)).toEqual({
      event: "announced",
      at: 630,
      key: "ed-1",
      direct: 600 + 2 * HOUR,
      shared: 600 + 4 * HOUR,
    });
  });

  it("forgets that lifetime when its copies are gone", () => {
    const { events } = look([
      [0, op()],
      [1, lifetime(SHORT)],
      [5 * HOUR, lifetime(SHORT)],
      [5 * HOUR + 1, lifetime(SHORT, two)],
    ]);
    expect(events.at(-1)).toMatchObject({ direct: 5 * HOUR + 301, shared: 5 * HOUR + 601 });
  });

  it("counts the time in which nothing was seen", () => {
    const { events } = look([
      [0, lifetime(SHORT)],
      [100, away],
      [200, away],
      [1000, lifetime(SHORT, two)],
    ]);
    expect(events.slice(1)).toEqual([
      { event: "away", at: 100, why: "no connection (ECONNREFUSED)" },
      { event: "back", at: 1000 },
      { event: "announced", at: 1000, key: "ed-1", direct: 1300, shared: 1600 },
    ]);
  });

  it("is right away where nothing is cached", () => {
    const { events } = look([
      [0, lifetime("no-store")],
      [1, lifetime("no-store", two)],
    ]);
    expect(events.at(-1)).toMatchObject({ direct: 1, shared: 1 });
  });

  it("is not known where no lifetime was told", () => {
    const { state, events } = look([
      [0, lifetime(undefined)],
      [1, op({ keys: two })],
    ]);
    expect(events[1]).toMatchObject({ event: "announced", direct: undefined, shared: undefined });
    expect(passed(state, 1e15).events).toEqual([]);
  });

  it("is told once for each of the two moments", () => {
    let { state } = look([
      [0, lifetime(SHORT)],
      [30, lifetime(SHORT, two)],
    ]);
    const told = [329, 330, 331, 629, 630, 631].flatMap((second) => {
      const step = passed(state, second * 1000);
      ({ state } = step);
      return step.events.map(inSeconds);
    });
    expect(told).toEqual([
      { event: "may-sign", at: 330, key: "ed-1", behindSharedCache: false },
      { event: "may-sign", at: 630, key: "ed-1", behindSharedCache: true },
    ]);
  });

  it("is the next moment to wake up for", () => {
    const { state } = look([
      [0, lifetime(SHORT)],
      [30, lifetime(SHORT, two)],
    ]);
    expect(nextMoment(WATCH_START)).toBe(Infinity);
    expect(nextMoment(state)).toBe(330_000);
    expect(nextMoment(passed(state, 330_000).state)).toBe(630_000);
    expect(nextMoment(passed(state, 630_000).state)).toBe(Infinity);
  });

  it("no longer matters when the key is withdrawn before", () => {
    const { state, events } = look([
      [0, lifetime(SHORT)],
      [30, lifetime(SHORT, two)],
      [60, lifetime(SHORT)],
    ]);
    expect(events.at(-1)).toEqual({ event: "withdrawn", at: 60, key: "ed-1", trustedUntil: 660 });
    expect(nextMoment(state)).toBe(Infinity);
  });
});

describe("what a rotation must not do", () => {
  const faultsOf = (events: readonly object[]): readonly unknown[] =>
    events.flatMap((event) => ("seen" in event ? [event.seen] : []));

  it("give a kid to another key", () => {
    const { events } = look([
      [0, op()],
      [1, op({ keys: [{ ...EC_KEY, x: EC_KEY.y, y: EC_KEY.x }] })],
    ]);
    expect(faultsOf(events)).toEqual(["sig-1 is another key now"]);
  });

  it("give a kid to another key after a set without it", () => {
    const another = { ...EC_KEY, x: EC_KEY.y, y: EC_KEY.x };
    const { events } = look([
      [0, op({ keys: two })],
      [1, op({ keys: [ED_KEY] })],
      [2, away],
      [3, op({ keys: [another, ED_KEY] })],
      [4, op({ keys: [another, ED_KEY] })],
      [5, op({ keys: two })],
    ]);
    expect(faultsOf(events)).toEqual(["sig-1 is another key now", "sig-1 is another key now"]);
  });

  it("but keys without a kid may come and go", () => {
    const { kid: _kid, ...nameless } = EC_KEY;
    const { events } = look([
      [0, op({ keys: [ED_KEY, nameless] })],
      [1, op({ keys: [ED_KEY] })],
      [2, op({ keys: [ED_KEY, { ...nameless, x: EC_KEY.y, y: EC_KEY.x }] })],
    ]);
    expect(faultsOf(events)).toEqual([]);
  });

  it("keep the ETag", () => {
    const { events } = look([
      [0, op({ headers: { etag: '"a"' } })],
      [1, op({ keys: two, headers: { etag: '"a"' } })],
    ]);
    expect(faultsOf(events)).toEqual(["the set changed and its ETag did not"]);
  });

  it("let the new key sign at once, where the first key signs (strict)", () => {
    const looks = [
      [0, op()],
      [1, op({ keys: two.toReversed() })],
    ] as const;
    expect(faultsOf(look(looks).events)).toEqual([]);
    expect(faultsOf(look(looks, true).events)).toEqual(["ed-1 is the first key, before all caches can have it"]);
  });

  it.each([
    ["of 60 characters is told whole", "k".repeat(60), "k".repeat(60)],
    ["that is longer is told by its start", "k".repeat(61), `${"k".repeat(60)}…`],
  ])("the kid %s", (_name, kid, told) => {
    const named = { ...EC_KEY, kid };
    const rebound = look([
      [0, op({ keys: [named] })],
      [1, op({ keys: [{ ...named, x: EC_KEY.y, y: EC_KEY.x }] })],
    ]);
    expect(faultsOf(rebound.events)).toEqual([`${told} is another key now`]);
    const early = look(
      [
        [0, op({ keys: [ED_KEY] })],
        [1, op({ keys: [named, ED_KEY] })],
      ],
      true,
    );
    expect(faultsOf(early.events)).toEqual([`${told} is the first key, before all caches can have it`]);
  });

  it("a rotation that waits has no fault", () => {
    let { state } = look(
      [
        [0, lifetime(SHORT)],
        [30, lifetime(SHORT, two)],
      ],
      true,
    );
    ({ state } = passed(state, 630_000));
    const active = exchangeOf(lifetime(SHORT, two.toReversed()), { method: "GET", url: JWKS_URI, headers: {} });
    expect(observed(state, observe(active, 631_000), true).events).toEqual([]);
  });
});

describe("an older copy of a cache", () => {
  const copy = (keys: readonly unknown[], age: number): Op =>
    op({ keys, headers: { "cache-control": SHORT, age: String(age) } });
  const one = [EC_KEY];

  it("withdraws no key and announces none again, and is told once", () => {
    const { events } = look([
      [0, copy(one, 100)],
      [30, copy(two, 5)],
      [60, copy(one, 160)],
      [90, copy(two, 65)],
      [120, copy(one, 220)],
    ]);
    expect(events).toEqual([
      { event: "watching", at: 0, keys: ["sig-1"], cacheControl: SHORT },
      { event: "announced", at: 30, key: "ed-1", direct: 330, shared: 630 },
      { event: "older", at: 60, age: 0.16, inUseUntil: 660 },
    ]);
  });

  it("keeps a key that it lacks from signing for as long as it may be in use", () => {
    const { state } = look([
      [0, copy(one, 100)],
      [30, copy(two, 5)],
      [60, copy(one, 160)],
    ]);
    expect(passed(state, 630_000).events.map(inSeconds)).toEqual([
      { event: "may-sign", at: 630, key: "ed-1", behindSharedCache: false },
    ]);
    expect(passed(state, 660_000).events.map(inSeconds)).toEqual([
      { event: "may-sign", at: 660, key: "ed-1", behindSharedCache: true },
    ]);
  });

  it("is told again after the next change", () => {
    const { events } = look([
      [0, copy(one, 100)],
      [30, copy(two, 5)],
      [60, copy(one, 160)],
      [90, copy([ED_KEY], 0)],
      [120, copy(two, 95)],
    ]);
    expect(events.slice(3)).toMatchObject([
      { event: "withdrawn", key: "sig-1" },
      { event: "older", at: 120 },
    ]);
  });

  it.each([
    ["that states no Age may be the newest set", op({ keys: one, headers: { "cache-control": SHORT } })],
    ["is none if it may have been made after the last set", copy(one, 6)],
  ])("%s", (_name, server) => {
    const { events } = look([
      [0, copy(two, 5)],
      [1, server],
    ]);
    expect(events.at(-1)).toMatchObject({ event: "withdrawn", key: "ed-1" });
  });

  it("is none if only the wall clock was set back", () => {
    const seen = (server: Op, monotonic: number, wall: number): ReturnType<typeof observe> =>
      observe(exchangeOf(server, { method: "GET", url: JWKS_URI, headers: {} }), wall, { monotonic, wall });
    const first = observed(WATCH_START, seen(copy(one, 0), 0, 3_600_000), false);
    const second = observed(first.state, seen(copy(two, 20), 30_000, 0), false);
    expect(second.events).toMatchObject([{ event: "announced", key: "ed-1" }]);
  });
});

it("a body that is no set, and an error, are no set", () => {
  const { events } = look([
    [0, op({ text: "<html>" })],
    [
      1,
      changed(
        op(),
        () => true,
        () => ({ status: 502, headers: {} }),
      ),
    ],
    [2, op()],
  ]);
  expect(events).toMatchObject([
    { event: "away", why: "the body is HTML or XML, not JSON" },
    { event: "back" },
    { event: "watching" },
  ]);
});

it("each event in words, and as JSON with times as text", () => {
  const events: readonly WatchEvent[] = [
    { event: "watching", at: NOW, keys: ["a"], cacheControl: SHORT },
    { event: "announced", at: NOW, key: "b", direct: NOW + 1, shared: NOW + 600_000 },
    { event: "announced", at: NOW, key: "b", direct: NOW + 1, shared: NOW + 1 },
    { event: "announced", at: NOW, key: "b", direct: undefined, shared: undefined },
    { event: "may-sign", at: NOW, key: "b", behindSharedCache: false },
    { event: "may-sign", at: NOW, key: "b", behindSharedCache: true },
    { event: "withdrawn", at: NOW, key: "a", trustedUntil: NOW + 1000 },
    { event: "withdrawn", at: NOW, key: "a", trustedUntil: undefined },
    { event: "lifetime", at: NOW, cacheControl: "" },
    { event: "older", at: NOW, age: 130, inUseUntil: NOW + 1000 },
    { event: "older", at: NOW, age: 130, inUseUntil: undefined },
    { event: "fault", at: NOW, severity: "must", seen: "Seen", advice: "Do it." },
    { event: "away", at: NOW, why: "no connection" },
    { event: "back", at: NOW },
  ];
  expect(events.map((event) => renderEvent(event, createColors(false)))).toMatchInlineSnapshot(`
    [
      "2026-11-01T12:00:00Z  watching a
                          Cache-Control: public, max-age=300, must-revalidate",
      "2026-11-01T12:00:00Z  b is announced
                          it may sign from 2026-11-01T12:00:01Z
                          behind a shared cache, from 2026-11-01T12:10:00Z",
      "2026-11-01T12:00:00Z  b is announced
                          it may sign from 2026-11-01T12:00:01Z",
      "2026-11-01T12:00:00Z  b is announced
                          earlier answers stated no lifetime, so it is not known when it may sign",
      "2026-11-01T12:00:00Z  b may sign if no shared cache is in between",
      "2026-11-01T12:00:00Z  b may sign",
      "2026-11-01T12:00:00Z  a is withdrawn
                          caches may trust it until 2026-11-01T12:00:01Z",
      "2026-11-01T12:00:00Z  a is withdrawn
                          caches may trust it for as long as they like",
      "2026-11-01T12:00:00Z  now no Cache-Control",
      "2026-11-01T12:00:00Z  a cache still serves an older set, Age 2 min 10 s
                          relying parties may use it until 2026-11-01T12:00:01Z",
      "2026-11-01T12:00:00Z  a cache still serves an older set, Age 2 min 10 s
                          relying parties may use it for as long as they like",
      "2026-11-01T12:00:00Z  MUST Seen
                          → Do it.",
      "2026-11-01T12:00:00Z  no key set: no connection",
      "2026-11-01T12:00:00Z  the key set is back",
    ]
  `);
  expect(events.slice(1, 4).map((event) => eventToJson(event))).toMatchInlineSnapshot(`
    [
      "{"event":"announced","at":"2026-11-01T12:00:00.000Z","key":"b","direct":"2026-11-01T12:00:00.001Z","shared":"2026-11-01T12:10:00.000Z"}",
      "{"event":"announced","at":"2026-11-01T12:00:00.000Z","key":"b","direct":"2026-11-01T12:00:00.001Z","shared":"2026-11-01T12:00:00.001Z"}",
      "{"event":"announced","at":"2026-11-01T12:00:00.000Z","key":"b","direct":null,"shared":null}",
    ]
  `);
});

it("a kid that a terminal would obey is escaped in words and in JSON", () => {
  const event: WatchEvent = { event: "may-sign", at: NOW, key: "\u001b[2J\u009b\u202e", behindSharedCache: true };
  expect(renderEvent(event, createColors(false))).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  expect(eventToJson(event)).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  expect(JSON.parse(eventToJson(event))).toMatchObject({ key: event.key });
});
