import { describe, expect, test } from "vitest";
import type { Observation, WatchedKey } from "../../src/check/watch/observe.ts";
import { nextMoment, observed, passed, WATCH_START } from "../../src/check/watch/state.ts";
import type { WatchState } from "../../src/check/watch/state.ts";

// What a watch makes of two looks, at each bound.

type Look = Extract<Observation, { kind: "set" }>;

const key = (name: string, value = name): WatchedKey => ({ name, isKid: true, value });

/** A look at a second, whose set has these keys. */
function look(second: number, keys: readonly WatchedKey[], more: Partial<Look> = {}): Look {
  const at = second * 1000;
  return {
    kind: "set",
    at,
    instant: { monotonic: at, wall: at },
    tookMs: 0,
    age: undefined,
    keys,
    etag: undefined,
    body: keys.map(({ name, value }) => `${name}=${value}`).join(),
    cacheControl: "",
    direct: 10,
    shared: 20,
    ...more,
  };
}

function after(...looks: readonly Observation[]): { state: WatchState; events: readonly string[] } {
  let state = WATCH_START;
  let events: readonly string[] = [];
  for (const one of looks) {
    const step = observed(state, one, true);
    ({ state } = step);
    events = step.events.map(({ event }) => event);
  }
  return { state, events };
}

describe("an answer is an older copy", () => {
  // The look before was 30 s ago, and took 5 ms. A second is for the rounding of Age.
  const before = { age: 4, tookMs: 5 };

  test.each<[what: string, ms: number, first: Partial<Look>, next: Partial<Look>, isOlder: boolean]>([
    ["if its age says so by a millisecond", 30_994, before, { age: 36 }, true],
    ["not if it may have been made at the same time", 30_995, before, { age: 36 }, false],
    [
      "counted from the start, if the first one states no age",
      30_994,
      { ...before, age: undefined },
      { age: 32 },
      true,
    ],
    ["not if that is the same time", 30_995, { ...before, age: undefined }, { age: 32 }, false],
    ["not if it states no age", 30_000, before, {}, false],
    ["not if it is the same set", 30_000, before, { age: 500, body: "a=a" }, false],
  ])("%s", (_what, ms, first, next, isOlder) => {
    const instant = { monotonic: ms, wall: ms };
    const { events } = after(look(0, [key("a")], first), look(31, [key("b")], { instant, ...next }));
    expect(events.includes("older")).toBe(isOlder);
  });
});

describe("names of keys", () => {
  const many = (count: number): readonly WatchedKey[] => Array.from({ length: count }, (_, index) => key(`k${index}`));

  test("are remembered up to ten thousand, the latest ones", () => {
    const { state } = after(look(0, many(10_000)), look(1, [key("new")]));
    expect([state.named.size, state.named.has("k0"), state.named.has("k1"), state.named.has("new")]).toEqual([
      10_000,
      false,
      true,
      true,
    ]);
    const fewer = after(look(0, many(9999)), look(1, [key("new")])).state;
    expect([fewer.named.size, fewer.named.has("k0")]).toEqual([10_000, true]);
  });

  test("that are no kids are forgotten with their set", () => {
    const place: WatchedKey = { name: "key 1", isKid: false, value: "x" };
    const { state } = after(look(0, [place, key("a")]), look(1, [key("b")]));
    expect([...state.named.keys()]).toEqual(["a", "b"]);
  });

  test("may stand for several keys, of which each is known", () => {
    const two = [key("a", "x"), key("a", "y")];
    expect(after(look(0, two), look(1, two.toReversed())).events).toEqual([]);
    expect(after(look(0, two), look(1, [key("a", "z")])).events).toEqual(["fault"]);
  });
});

describe("a set without keys", () => {
  test("withdraws those that were there", () => {
    expect(after(look(0, [key("a"), key("b")]), look(1, [])).events).toEqual(["withdrawn", "withdrawn"]);
  });

  test("may get one, which is then the first one too early", () => {
    const { state } = after(look(0, []), look(1, [key("a")]));
    expect(state.pending.map((one) => [one.key, one.direct, one.shared])).toEqual([["a", 11_000, 21_000]]);
    expect(after(look(0, []), look(1, [key("a")])).events).toEqual(["announced", "fault"]);
  });
});

describe("an ETag that stays", () => {
  test.each<[etag: string | undefined, next: string | undefined, isFault: boolean]>([
    ['"a"', '"a"', true],
    ['"a"', '"b"', false],
    ['W/"a"', 'W/"a"', false],
    [undefined, undefined, false],
    ['"a"', undefined, false],
  ])("from %s to %s, with another body: %s", (etag, next, isFault) => {
    const { events } = after(look(0, [key("a")], { etag, body: "1" }), look(1, [key("a")], { etag: next, body: "2" }));
    expect(events).toEqual(isFault ? ["fault"] : []);
    expect(after(look(0, [key("a")], { etag }), look(1, [key("a")], { etag: next })).events).toEqual([]);
  });
});

describe("two announced keys", () => {
  // The first one may sign at 11 s and 21 s, the second one at 41 s and 81 s.
  const { state } = after(
    look(0, [key("a")]),
    look(1, [key("a"), key("b")], { direct: 40, shared: 80 }),
    look(1, [key("a"), key("b"), key("c")]),
  );

  test("are waited for by the one that comes first", () => {
    expect(state.pending.map((one) => [one.key, one.direct, one.shared])).toEqual([
      ["b", 11_000, 21_000],
      ["c", 41_000, 81_000],
    ]);
    let now: WatchState = state;
    const moments = [11, 21, 41, 81].map((second) => {
      const moment = nextMoment(now);
      const step = passed(now, second * 1000);
      now = step.state;
      return [moment, step.events.map((event) => ("key" in event ? event.key : ""))];
    });
    expect(moments).toEqual([
      [11_000, ["b"]],
      [21_000, ["b"]],
      [41_000, ["c"]],
      [81_000, ["c"]],
    ]);
    expect(nextMoment(now)).toBe(Infinity);
  });

  test("without a lifetime are never due", () => {
    const unknown = after(look(0, [key("a")], { direct: undefined, shared: undefined }), look(1, [key("b")])).state;
    expect(unknown.pending).toHaveLength(1);
    expect(nextMoment(unknown)).toBe(Infinity);
    expect(passed(unknown, 1e15).events).toEqual([]);
  });
});
