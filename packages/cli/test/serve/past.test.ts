import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { isSchedule } from "../../src/config/config.ts";
import { standIn } from "../../src/config/config-keys.ts";
import type { LoadedConfig } from "../../src/config/load-config.ts";
import { createLive } from "../../src/serve/live/serving.ts";
import { segmentsFrom } from "../../src/serve/live/timeline.ts";

// How far back the plan of a schedule goes, and what stays if a configuration cannot be served.

const NOW = Date.parse("2026-07-01T00:00:00Z");
const SECOND = 1000;
const DAY = 86_400 * SECOND;

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: NOW }));
afterEach(() => void vi.useRealTimers());

const at = (ms: number): string => new Date(NOW + ms).toISOString();

/** A key that is announced a day before it signs. The first one is not announced before. */
const entry = (keyId: string, activeMs: number, announcedMs = activeMs - DAY): object => ({
  keyId,
  signer: `local:${keyId}`,
  announcedFrom: at(announcedMs),
  activeFrom: at(activeMs),
});

const loadedOf = (keys: unknown): LoadedConfig => ({
  name: "op.json",
  config: { issuer: "https://op.example", keys } as LoadedConfig["config"],
});
const scheduleOf = (...entries: readonly object[]): LoadedConfig =>
  loadedOf({ maxTokenLifetimeSeconds: 3600, entries });

const live = () =>
  createLive(
    {
      read: async ({ config: { keys } }) => {
        const entries = (isSchedule(keys) ? keys.entries : keys) as readonly object[];
        return entries.map((one) => ({ ...one, signer: standIn() }) as never);
      },
    },
    {},
  );

async function changesOf(loaded: LoadedConfig): Promise<readonly number[]> {
  const { segments } = await live().adopt(loaded, false);
  return segments.map(({ until }) => (until - NOW) / DAY);
}

describe("the plan of a schedule", () => {
  test("begins with its first activation", async () => {
    const changes = await changesOf(scheduleOf(entry("a", -10 * DAY, -10 * DAY), entry("b", 2 * DAY)));
    expect(changes.slice(0, 2)).toEqual([1, 2]);
    const reversed = await changesOf(scheduleOf(entry("b", 2 * DAY), entry("a", -10 * DAY, -10 * DAY)));
    expect(reversed).toEqual(changes);
  });

  test.each([
    ["is left out", 0, -399],
    ["is shown", SECOND, -400 + SECOND / DAY],
  ])("goes back by 400 days: an announcement %s, %i ms after them", async (_what, ms, first) => {
    const announced = -400 * DAY + ms;
    const old = entry("a", -500 * DAY, -500 * DAY);
    const changes = await changesOf(scheduleOf(old, entry("b", -399 * DAY, announced)));
    expect(changes[0]).toBeCloseTo(first, 6);
  });

  test("may have dates that are objects, as in a configuration that is code", async () => {
    const dates = { announcedFrom: new Date(NOW - 10 * DAY), activeFrom: new Date(NOW - 10 * DAY) };
    const changes = await changesOf(scheduleOf({ ...entry("a", 0), ...dates }, entry("b", 2 * DAY)));
    expect(changes.slice(0, 2)).toEqual([1, 2]);
  });

  test("is one span of a list", async () => {
    expect(await changesOf(loadedOf([{ keyId: "a", signer: "local:a" }]))).toEqual([Infinity]);
  });
});

test("a configuration that cannot be served leaves the one before", async () => {
  const served = live();
  const list = loadedOf([{ keyId: "a", signer: "local:a" }]);
  await served.adopt(list, false);
  const before = [served.serving(), served.published()];
  expect(served.published()?.active.keyId).toBe("a");
  // Core remembers which key each kid has named, and the new one has another.
  await expect(served.adopt(list, false)).rejects.toMatchObject({ message: expect.stringMatching(/^op\.json: /) });
  expect([served.serving(), served.published()]).toEqual(before);
  expect([served.isRotationActive(), served.nextChange()]).toEqual([false, null]);
});

describe("segments", () => {
  /** A schedule that changes each second, so many times. */
  const changing = (times: number) => async (now: () => number) =>
    ({
      nextChange: () => (now() >= times * SECOND ? null : new Date(now() + SECOND)),
      keySet: () => ({
        keys: [
          { keyId: "a", role: "active", use: "sig" },
          { keyId: "e", role: "encryption", use: "enc" },
        ],
      }),
      withdrawn: () => [{ keyId: "w", role: "withdrawn", use: "sig" }],
      jwksRotationActive: () => now() >= SECOND,
    }) as never;

  test("follow each other, from the first one without a beginning to the last one without an end", async () => {
    const segments = await segmentsFrom(0, changing(2));
    expect(segments.map(({ from, until, isCachedShortly }) => [from, until, isCachedShortly])).toEqual([
      [-Infinity, SECOND, false],
      [SECOND, 2 * SECOND, true],
      [2 * SECOND, Infinity, true],
    ]);
    expect([...(segments[0]?.roles ?? [])]).toEqual([
      ["a", "active"],
      ["w", "withdrawn"],
    ]);
  });

  test.each([
    [1998, 1999, Infinity],
    [1999, 2000, Infinity],
    [2000, 2000, 2000 * SECOND],
    [5000, 2000, 2000 * SECOND],
  ])("of %i changes are %i, and the last one ends at %d", async (changes, count, until) => {
    const segments = await segmentsFrom(0, changing(changes));
    expect([segments.length, segments.at(-1)?.until]).toEqual([count, until]);
  });
});
