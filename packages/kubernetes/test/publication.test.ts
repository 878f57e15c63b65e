import { describe, expect, test } from "vitest";
import { createKeySet, type KeySet } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { createPublication, type Current, withoutOwn } from "../src/signer/publication.ts";
import type { FetchedKey } from "../src/signer-types.ts";

// When the published keys changed, and when to ask again.

const NOW = 1_700_000_000_000;
const [a, b] = [await openLocalSigner(), await openLocalSigner()];
const setOf = (keyId: string, signer = a): KeySet => createKeySet([{ keyId, signer }]);
const legacyKey = (members: Partial<FetchedKey> = {}): FetchedKey => ({
  keyId: "legacy",
  spki: Uint8Array.of(1, 2),
  excludeFromDiscovery: false,
  ...members,
});
const still = Number.POSITIVE_INFINITY;
const at = (current: Partial<Current> = {}): Current => ({
  keySet: setOf("a"),
  legacy: [],
  nextChange: still,
  ...current,
});

describe("the time of the change", () => {
  /** When the keys of the second answer changed, in seconds after the first. */
  const changedAfter = (first: Partial<Current>, second: Partial<Current>, seconds = 50): number => {
    const publication = createPublication();
    publication.answer(at(first), NOW, 60);
    const { dataTimestamp } = publication.answer(at(second), NOW + 1000 * seconds, 60);
    return (dataTimestamp.getTime() - NOW) / 1000;
  };

  test("is the one of the first answer while the keys are the same", () => {
    expect(changedAfter({}, {})).toBe(0);
    expect(changedAfter({ legacy: [legacyKey()] }, { legacy: [legacyKey()] })).toBe(0);
    expect(changedAfter({ nextChange: NOW + 20_000 }, { nextChange: NOW + 90_000 })).toBe(0);
  });

  test.each([
    ["another kid", { keySet: setOf("b") }, 50],
    ["another key", { keySet: setOf("a", b) }, 50],
    ["a key more", { legacy: [legacyKey(), legacyKey({ keyId: "more" })] }, 50],
    ["a key less", { legacy: [] }, 50],
    ["another legacy kid", { legacy: [legacyKey({ keyId: "other" })] }, 50],
    ["another legacy key", { legacy: [legacyKey({ spki: Uint8Array.of(1, 3) })] }, 50],
    ["a legacy key that is excluded now", { legacy: [legacyKey({ excludeFromDiscovery: true })] }, 50],
  ])("with %s is the one of the answer", (_what, second, seconds) => {
    expect(changedAfter({ legacy: [legacyKey()] }, { legacy: [legacyKey()], ...second })).toBe(seconds);
  });

  test("is the change of the schedule, if the answer comes after it", () => {
    const change = { nextChange: NOW + 20_000 };
    expect(changedAfter(change, { keySet: setOf("b") })).toBe(20);
    expect(changedAfter(change, { keySet: setOf("b") }, 20)).toBe(20);
    expect(changedAfter(change, { keySet: setOf("b") }, 19)).toBe(19);
  });

  test("stays when a set that is another object has the same keys, and the next one is noticed", () => {
    const publication = createPublication();
    const timeOf = (current: Partial<Current>, seconds: number): number =>
      publication.answer(at(current), NOW + 1000 * seconds, 60).dataTimestamp.getTime() - NOW;
    expect([
      timeOf({}, 0),
      timeOf({}, 5),
      timeOf({ keySet: setOf("b") }, 9),
      timeOf({ keySet: setOf("b") }, 11),
    ]).toEqual([0, 0, 9000, 9000]);
  });
});

test("the hint follows a change that is moved, also if the keys are the same objects", () => {
  const publication = createPublication();
  const current = at();
  const hint = (nextChange: number): number =>
    publication.answer({ ...current, nextChange }, NOW, 60).refreshHintSeconds;
  expect([hint(still), hint(NOW + 30_000), hint(NOW + 10_000)]).toEqual([60, 30, 10]);
});

describe("the keys", () => {
  test("are the same list as long as nothing changes", () => {
    const publication = createPublication();
    const current = at({ legacy: [legacyKey()] });
    const { keys } = publication.answer(current, NOW, 60);
    expect(keys.map(({ keyId }) => keyId)).toEqual(["a", "legacy"]);
    expect(publication.answer(current, NOW + 5, 60).keys).toBe(keys);
    expect(publication.answer(at({ legacy: [legacyKey()] }), NOW + 9, 60).keys).toBe(keys);
  });

  test("of before are left out if the set has their kid", () => {
    const legacy = [legacyKey({ keyId: "a" }), legacyKey()];
    expect(withoutOwn(legacy, setOf("a")).map(({ keyId }) => keyId)).toEqual(["legacy"]);
  });
});

test.each([
  [60, still, 60],
  [3600, still, 3600],
  [4000, still, 3600],
  [60, 30_000, 30],
  [60, 30_001, 31],
  [60, 60_001, 60],
  [60, 1, 1],
  [60, 0, 1],
  [60, -5000, 1],
])("the setting %d with a change in %d ms is a hint of %d s", (hintSeconds, ms, expected) => {
  const { refreshHintSeconds } = createPublication().answer(at({ nextChange: NOW + ms }), NOW, hintSeconds);
  expect(refreshHintSeconds).toBe(expected);
});
