import { createColors } from "picocolors";
import { describe, expect, test } from "vitest";
import { standIn } from "../../src/config/config-keys.ts";
import { inspectRotation, type Rotation } from "../../src/rotate/inspect.ts";
import { drawRotation } from "../../src/rotate/timeline/draw.ts";
import { eventFinder, isOver, nextChange, stateWords } from "../../src/rotate/timeline/events.ts";
import { instantOrNull, instantText } from "../../src/rotate/timeline/instants.ts";
import { columnOf, createScale, fitChanges } from "../../src/rotate/timeline/scale.ts";
import { ENTRIES } from "./support.ts";

// The picture of a schedule and its words, to the last column.

const NOW = Date.parse("2026-07-01T09:00:00Z");
const DAY = 86_400_000;
const SIGNERS = Array.from({ length: 12 }, standIn);

function rotationOf(entries: readonly object[], now: number = NOW): Rotation {
  const schedule = { entries, maxTokenLifetimeSeconds: 3600 } as Parameters<typeof inspectRotation>[0];
  return inspectRotation(schedule, { path: "keys", now, signerOf: (index) => SIGNERS[index] });
}

function entry(keyId: string, activeDays: number, more: object = {}): object {
  const active = Date.parse("2026-01-01T00:00:00Z") + activeDays * DAY;
  const announcedFrom = instantText(activeDays === 0 ? active : active - DAY);
  return { keyId, signer: "local:a.pem", announcedFrom, activeFrom: instantText(active), ...more };
}

const FIRST = { ...ENTRIES[0] };
const SPARE = {
  keyId: "spare",
  signer: "local:b.pem",
  announcedFrom: "2026-07-01T08:30:00Z",
  activeFrom: "2026-06-01T00:00:00Z",
  emergencyAt: "2026-07-01T08:30:00Z",
};

const ROTATIONS: readonly (readonly [what: string, rotation: Rotation])[] = [
  ["two keys", rotationOf(ENTRIES)],
  ["one key", rotationOf([FIRST])],
  ["an emergency", rotationOf([FIRST, SPARE])],
  ["many keys", rotationOf(Array.from({ length: 8 }, (_, index) => entry(`key-${index}`, index * 60)))],
  ["long names", rotationOf([entry("x".repeat(24), 0), entry("y".repeat(25), 400)])],
];

const TIMES = [
  "2025-12-31T00:00:00Z",
  "2026-07-01T09:00:00Z",
  "2026-07-01T14:30:00Z",
  "2026-07-20T00:00:00Z",
  "2027-12-01T00:00:00Z",
];

describe.each(ROTATIONS)("the schedule of %s", (_what, rotation) => {
  test.each(TIMES)("at %s", (time) => {
    const at = Date.parse(time);
    const { lines, legend, shown } = drawRotation(rotation, at, { width: 80, colors: createColors(false) });
    const narrow = drawRotation(rotation, at, { width: 50, colors: createColors(true) });
    const words = [
      stateWords(rotation, at),
      instantOrNull(nextChange(rotation, at) ?? Infinity),
      rotation.keys.map((key) => isOver(key, at)).join(", "),
    ];
    const pictures = [...lines, legend, JSON.stringify(shown), ...narrow.lines, narrow.legend];
    expect([...pictures, ...words].join("\n")).toMatchSnapshot();
  });

  test("says what happens at each change", () => {
    const eventAt = eventFinder(rotation);
    expect(rotation.changes.map((time) => `${instantText(time)} ${eventAt(time).words}`).join("\n")).toMatchSnapshot();
    expect(eventAt(NOW + 1)).toEqual({ time: NOW + 1, words: "" });
  });
});

test("the next change is after a time, and not at it", () => {
  const [rotation] = [rotationOf(ENTRIES)];
  const [first = 0, second = 0] = rotation.changes;
  expect([nextChange(rotation, first - 1), nextChange(rotation, first)]).toEqual([first, second]);
  expect(nextChange(rotation, rotation.changes.at(-1) ?? 0)).toBeUndefined();
});

describe("the scale", () => {
  const HOUR = 3_600_000;
  test.each<[changes: readonly number[], width: number]>([
    [[], 40],
    [[0], 40],
    [[0, HOUR], 40],
    [[0, 60_000, 100 * HOUR], 80],
    [[0, HOUR, 2 * HOUR, 9000 * HOUR], 31],
    [[0, HOUR, 2 * HOUR, 9000 * HOUR], 5],
  ])("of the changes %j in %d columns", (changes, width) => {
    const shown = createScale(changes, width).map(({ from, until, sample, column, width: wide }) =>
      [from, until, sample, column, wide].join(" "),
    );
    expect(shown).toMatchSnapshot();
  });

  test("has a place for each time", () => {
    const segments = createScale([0, 1000, 2000], 60);
    const columns = [-5, -1, 0, 1, 499, 500, 999, 1000, 1999, 2000, 9999].map((time) => columnOf(segments, time));
    expect(columns).toMatchSnapshot();
    expect(columnOf([], 0)).toBe(0);
  });

  test.each([
    [4.5, 9],
    [4.5, 10],
    [4.5, 17],
    [4.5, 24],
    [0, 31],
    [9, 31],
    [-1, 24],
  ])("has the changes around %d in %d columns", (at, width) => {
    expect(fitChanges([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], at, width)).toMatchSnapshot();
  });
});
