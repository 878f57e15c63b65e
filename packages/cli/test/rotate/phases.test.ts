import { createColors } from "picocolors";
import type { InspectedKey } from "@signpost/core/adapter";
import { describe, expect, test } from "vitest";
import { createOutput } from "../../src/terminal/output.ts";
import { standIn } from "../../src/config/config-keys.ts";
import { inspectRotation, isCachedShortly, type Rotation } from "../../src/rotate/inspect.ts";
import { announcedEntry, requireAhead } from "../../src/rotate/announce/entry.ts";
import { distance, instantOrNull } from "../../src/rotate/timeline/instants.ts";
import { phaseOf } from "../../src/rotate/timeline/phase.ts";
import { printEvents } from "../../src/rotate/timeline/print.ts";
import { columnOf, createScale, fitChanges } from "../../src/rotate/timeline/scale.ts";
import { ENTRIES } from "./support.ts";

// The phase of a key for people, the lines below a picture, and the axis, at each bound.

const HOUR = 3_600_000;
const NOW = Date.parse("2026-07-01T09:00:00Z");
const SIGNERS = Array.from({ length: 9 }, standIn);

describe("the phase of a key for people", () => {
  const keyOf = (announced: number, active: number, emergency?: number): InspectedKey => ({
    index: 0,
    keyId: "a",
    announcedFrom: announced,
    activeFrom: active,
    emergencyAt: emergency,
    retiringFrom: 50,
    withdrawnFrom: 60,
    droppedFrom: 70,
  });

  test.each<[what: string, key: InspectedKey, phases: readonly (readonly [time: number, phase: string])[]]>([
    [
      "has its dates",
      keyOf(10, 20),
      [
        [9, "unpublished"],
        [10, "announced"],
        [19, "announced"],
        [20, "active"],
        [49, "active"],
        [50, "retiring"],
        [60, "withdrawn"],
        [70, "dropped"],
      ],
    ],
    [
      "that signs from its announcement on goes on signing in the emergency of another one",
      keyOf(10, 10, 30),
      [
        [9, "unpublished"],
        [10, "active"],
        [29, "active"],
        [30, "active"],
      ],
    ],
    [
      "that took the place of another signs from the emergency on",
      keyOf(20, 0, 30),
      [
        [19, "unpublished"],
        [20, "announced"],
        [29, "announced"],
        [30, "active"],
      ],
    ],
    [
      "that took the place of another before it was announced signs from its announcement on",
      keyOf(30, 0, 20),
      [
        [20, "unpublished"],
        [29, "unpublished"],
        [30, "active"],
      ],
    ],
    [
      "with dates of another and no emergency signs from its announcement on",
      keyOf(20, 0),
      [
        [19, "unpublished"],
        [20, "active"],
      ],
    ],
  ])("%s", (_what, key, phases) => {
    expect(phases.map(([time]) => [time, phaseOf(key, time)])).toEqual(phases);
  });
});

function rotationOf(entries: readonly object[]): Rotation {
  const schedule = { entries, maxTokenLifetimeSeconds: 3600 } as Parameters<typeof inspectRotation>[0];
  return inspectRotation(schedule, { path: "keys", now: NOW, signerOf: (index) => SIGNERS[index] });
}

describe("the lines below a picture", () => {
  function printed(rotation: Rotation, at: number, columns: number): readonly string[] {
    let text = "";
    const write = (more: string | Uint8Array): void => void (text += String(more));
    printEvents(rotation, at, createOutput({ write, colors: createColors(true), columns, isTerminal: true }));
    return text.trimEnd().split("\n");
  }
  const { bold, dim } = createColors(true);
  const rotation = rotationOf(ENTRIES);
  const [first = 0, announced = 0, active = 0] = rotation.changes;
  const last = rotation.changes.at(-1) ?? 0;

  test("are dim up to now, and the next change is bold", () => {
    const styles = (at: number): readonly string[] =>
      printed(rotation, at, 120).map((line) =>
        line.startsWith(bold("2").slice(0, 4)) ? "bold" : line.startsWith(dim("2").slice(0, 4)) ? "dim" : "plain",
      );
    const plain = (count: number): readonly string[] => Array.from({ length: count }, () => "plain");
    expect(rotation.changes).toHaveLength(6);
    expect(styles(announced - 1)).toEqual(["dim", "bold", ...plain(4)]);
    expect(styles(announced)).toEqual(["dim", "dim", "bold", ...plain(3)]);
    expect(styles(active)).toEqual(["dim", "dim", "dim", "bold", ...plain(2)]);
    // The first key is gone by then.
    expect(styles(last)).toEqual(Array.from({ length: 5 }, () => "dim"));
  });

  test.each([
    [20, first, "Not shown: 1 earlier change and 4 later changes. --json has all."],
    [36, last, "Not shown: 3 earlier changes. --json has all."],
  ])("count what does not fit in %i columns", (columns, at, words) => {
    expect(printed(rotation, at, columns).at(-1)).toBe(dim(words));
  });
});

describe("caches keep the set for a short time", () => {
  const shortCaching = [
    [10, 20],
    [30, 40],
  ] as const;
  test.each([
    [9, false],
    [10, true],
    [19, true],
    [20, false],
    [30, true],
    [40, false],
  ])("at %i: %s", (time, isShort) => {
    expect(isCachedShortly({ shortCaching }, time)).toBe(isShort);
  });
});

test.each([
  [499, "now"],
  [500, "in 1 s"],
  [-499, "now"],
  [-501, "1 s ago"],
  [60_000, "in 1 min"],
])("a time that is %i ms away is %s", (away, words) => {
  expect(distance(NOW + away, NOW)).toBe(words);
});

test("a time that never comes is null", () => {
  expect([instantOrNull(Infinity), instantOrNull(-Infinity), instantOrNull(NOW), instantOrNull(NOW + 1)]).toEqual([
    null,
    null,
    "2026-07-01T09:00:00Z",
    "2026-07-01T09:00:00.001Z",
  ]);
});

describe("the dates of a new key", () => {
  const keysAt = (...minutes: readonly number[]) =>
    minutes.map((minute) => ({ activeFrom: NOW + minute * 60_000 })) as never;
  const key = { keyId: "a", signer: "local:a.pem" };
  const leadMs = 4 * HOUR + 60_000;

  test.each<[what: string, given: object, taken: readonly number[], lead: number, dates: readonly string[]]>([
    ["are in an hour, and as early as caches allow", {}, [], leadMs, ["10:00:00Z", "14:01:00Z"]],
    ["are a minute later where another key begins", {}, [301], leadMs, ["10:00:00Z", "14:02:00Z"]],
    ["are two minutes later where two others begin", {}, [301, 302], leadMs, ["10:00:00Z", "14:03:00Z"]],
    ["count from the announcement", { announcedFrom: NOW }, [], leadMs, ["09:00:00Z", "13:01:00Z"]],
    ["are those that are told", { announcedFrom: NOW, activeFrom: NOW + HOUR }, [], leadMs, ["09:00:00Z", "10:00:00Z"]],
    [
      "have an announcement soon, where a day before is over",
      { activeFrom: NOW + 6 * HOUR },
      [],
      leadMs,
      ["10:00:00Z", "15:00:00Z"],
    ],
  ])("%s", (_what, given, taken, lead, dates) => {
    const { announcedFrom, activeFrom } = announcedEntry(
      { ...key, ...given },
      { keys: keysAt(...taken), leadMs: lead },
      NOW,
    );
    expect([announcedFrom, activeFrom]).toEqual(dates.map((time) => `2026-07-01T${time}`));
  });

  test.each([
    [24 * HOUR, "2026-07-03T09:00:00Z"],
    [24 * HOUR + 1000, "2026-07-03T08:59:59Z"],
    [HOUR, "2026-07-03T09:00:00Z"],
  ])("begin a day, or a longer lead of %i ms, before it signs", (lead, announced) => {
    const activeFrom = NOW + 72 * HOUR;
    const entry = announcedEntry({ ...key, activeFrom }, { keys: keysAt(), leadMs: lead }, NOW);
    expect(entry.announcedFrom).toBe(announced);
  });

  test.each([
    [1, "10:01:00Z"],
    [59_999, "10:01:00Z"],
    [60_000, "10:01:00Z"],
    [60_001, "10:02:00Z"],
  ])("have whole minutes, %i ms later", (ms, announced) => {
    const entry = announcedEntry(key, { keys: keysAt(), leadMs }, NOW + ms);
    expect(entry.announcedFrom).toBe(`2026-07-01T${announced}`);
  });

  test("may not be over", () => {
    expect(() => requireAhead(NOW, NOW)).not.toThrow();
    expect(() => requireAhead(NOW, NOW + 1)).toThrow(
      expect.objectContaining({
        exitCode: 2,
        code: "announced_past",
        hint: "A key is announced after all replicas have the file. It is 2026-07-01T09:00:00Z now",
      }),
    );
    expect(() => requireAhead(NOW, NOW + 1999)).toThrow(
      expect.objectContaining({ hint: expect.stringContaining(" 2026-07-01T09:00:01Z ") as string }),
    );
  });
});

describe("the changes on an axis", () => {
  const changes = Array.from({ length: 10 }, (_, index) => index * 10);

  test.each<[at: number, width: number, shown: readonly number[], earlier: number, later: number]>([
    [45, 3 + 7 * 10, changes, 0, 0],
    [45, 3 + 7 * 5, [30, 40, 50, 60, 70], 3, 2],
    [45, 3 + 7 * 5 - 1, [30, 40, 50, 60], 3, 3],
    [40, 3 + 7 * 3, [30, 40, 50], 3, 4],
    [45, 3 + 7 * 2, [40, 50], 4, 4],
    [45, 3 + 7, [50], 5, 4],
    [45, 1, [50], 5, 4],
    [-1, 3 + 7 * 3, [0, 10, 20], 0, 7],
    [99, 3 + 7 * 3, [70, 80, 90], 7, 0],
  ])("at %i in %i columns are %j, after %i and before %i", (at, width, shown, earlier, later) => {
    expect(fitChanges(changes, at, width)).toEqual({ changes: shown, earlier, later });
  });

  test("have room by the logarithm of the time between them", () => {
    const widths = (list: readonly number[], width: number): readonly number[] =>
      createScale(list, width).map((segment) => segment.width);
    expect(widths([], 20)).toEqual([20]);
    expect(widths([0], 20)).toEqual([3, 17]);
    // 2 ** 7 - 2 minutes weigh 7, next to the 6 of what comes last.
    expect(widths([0, 126 * 60_000], 3 + 14 + 13)).toEqual([3, 7 + 7, 7 + 6]);
    expect(widths([0, 126 * 60_000, 126 * 60_000], 3 + 21 + 14)).toEqual([3, 14, 8, 13]);
    expect(widths([0, 60_000], 5)).toEqual([3, 7, 1]);
  });

  test("are samples of their parts", () => {
    const HALF = -Infinity;
    expect(createScale([100, 200], 40).map(({ from, until, sample, column }) => [from, until, sample, column])).toEqual(
      [
        [HALF, 100, 99, 0],
        [100, 200, 100, 3],
        [200, Infinity, 200, expect.any(Number)],
      ],
    );
  });

  test.each([
    [-5, 1],
    [0, 3],
    [50, 10],
    [99, 16],
    [100, 23],
    [1e9, 23],
  ])("have the time %i in column %i", (time, column) => {
    const part = { sample: 0 };
    const segments = [
      { ...part, from: -Infinity, until: 0, column: 0, width: 3 },
      { ...part, from: 0, until: 100, column: 3, width: 14 },
      { ...part, from: 100, until: Infinity, column: 17, width: 12 },
    ];
    expect(columnOf(segments, time)).toBe(column);
  });
});
