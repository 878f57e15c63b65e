import { describe, expect, test } from "vitest";
import { requireRoomForChains } from "../../src/rotation/certificates.ts";
import type { PlannedKey } from "../../src/rotation/timeline.ts";
import { thrownBy } from "../support/key-fixtures.ts";

/** A key of a schedule whose certificates take so many characters of a document, from one moment until another. */
function planned(from: number, until: number, characters: number): PlannedKey<unknown> {
  const empty = JSON.stringify({ x5c: [""] }).length;
  const certificates = { x5c: ["A".repeat(characters - empty)], publish: ["x5c"] };
  const life = { announcedFrom: from, activeFrom: from + 1, retiringFrom: from + 2, withdrawnFrom: until };
  return { ...life, droppedFrom: until + 1, shortCaching: [], key: { published: { certificates } } } as never;
}

const check = (keys: readonly PlannedKey<unknown>[], time: number): void => requireRoomForChains(keys, [], time);

const MOST = 40_960;

describe("the room for certificates in the documents of a schedule", () => {
  test.each<
    [what: string, keys: readonly [from: number, until: number, characters: number][], time: number, total?: number]
  >([
    ["one key that fits", [[0, 10, MOST]], 5],
    ["one key that does not", [[0, 10, MOST + 1]], 5, MOST + 1],
    [
      "two keys at the same time",
      [
        [0, 10, MOST],
        [9, 20, 100],
      ],
      5,
      MOST + 100,
    ],
    [
      "two keys one after the other",
      [
        [0, 10, MOST],
        [10, 20, 100],
      ],
      5,
    ],
    [
      "two keys that were together before",
      [
        [0, 10, MOST],
        [5, 20, 100],
      ],
      10,
    ],
    [
      "two keys that are together now",
      [
        [0, 10, MOST],
        [5, 20, 100],
      ],
      9,
      MOST + 100,
    ],
    [
      "the first of several documents without room",
      [
        [0, 10, 100],
        [5, 20, MOST],
        [6, 20, 100],
      ],
      1,
      MOST + 100,
    ],
    [
      "a key without an end",
      [
        [0, Number.POSITIVE_INFINITY, 100],
        [5, 20, MOST],
      ],
      1,
      MOST + 100,
    ],
  ])("%s", (_what, keys, time, total) => {
    const checked = (): void =>
      check(
        keys.map((key) => planned(...key)),
        time,
      );
    if (total === undefined) return expect(checked).not.toThrow();
    const message = expect.stringContaining(`got ${total};`);
    return expect(thrownBy(checked)).toMatchObject({ argument: "entries", code: "invalid_certificate", message });
  });

  // With work that grows with the square of the keys, this does not end within the time of a test.
  test("is found for 20,000 keys", () => {
    const keys = Array.from({ length: 20_000 }, (_, day) => planned(day * 100, day * 100 + 150, 100));
    expect(() => check(keys, 0)).not.toThrow();
  });
});
