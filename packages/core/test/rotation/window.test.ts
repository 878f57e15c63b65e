import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { rotationWindow } from "@signpost/core";
import { thrownBy } from "../support/key-fixtures.ts";

const START = Date.UTC(2026, 2, 1, 8);
const HOUR = 3_600_000;

/** Whether the window is open at each moment. */
function openAt(moments: readonly number[], options: { startedAt: Date | string; hours?: number }): boolean[] {
  let time = 0;
  const active = rotationWindow({ ...options, now: () => time });
  return moments.map((moment) => {
    time = moment;
    return active();
  });
}

test("is open from the start until 24 hours later, the end excluded", () => {
  const moments = [START - 1, START, START + 1, START + 24 * HOUR - 1, START + 24 * HOUR, START + 1000 * HOUR];
  expect(openAt(moments, { startedAt: new Date(START) })).toEqual([false, true, true, true, false, false]);
});

test.for([0.5, 1, 48, 8784])("is open for %s hours when asked to", (hours) => {
  const end = START + hours * HOUR;
  expect(openAt([START, end - 1, end], { startedAt: new Date(START), hours })).toEqual([true, true, false]);
});

test.for([
  "2026-03-01T08:00:00Z",
  "2026-03-01T08:00:00.000Z",
  "2026-03-01t08:00:00z",
  "2026-03-01T10:00:00+02:00",
  "2026-02-28T22:30:00-09:30",
])("reads the start %s as the same moment", (startedAt) => {
  expect(openAt([START - 1, START], { startedAt })).toEqual([false, true]);
});

test("opens again when the clock steps back: it depends on nothing but the clock", () => {
  const moments = [START + 25 * HOUR, START + HOUR];
  expect(openAt(moments, { startedAt: new Date(START) })).toEqual([false, true]);
});

test("keeps its start, even if the Date is changed later", () => {
  const startedAt = new Date(START);
  const active = rotationWindow({ startedAt, now: () => START });
  startedAt.setTime(0);
  expect(active()).toBe(true);
});

test("is closed while the clock returns no number", () => {
  let time = START;
  const active = rotationWindow({ startedAt: new Date(START), now: () => time });
  time = Number.NaN;
  expect(active()).toBe(false);
});

describe("without its own clock", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("uses the machine's", () => {
    const active = rotationWindow({ startedAt: new Date(START) });
    vi.setSystemTime(START);
    expect(active()).toBe(true);
    vi.setSystemTime(START + 24 * HOUR);
    expect(active()).toBe(false);
  });
});

describe("refuses", () => {
  test.for([
    "2026-03-01",
    "2026-03-01T08:00:00",
    "2026-03-01 08:00:00Z",
    "2026-02-30T08:00:00Z",
    "2026-13-01T08:00:00Z",
    "2026-03-01T25:00:00Z",
    "2026-03-01T08:61:00Z",
    "2026-03-01T08:00:00+02",
    "1 March 2026 08:00 UTC",
    "",
    "tomorrow",
    new Date(Number.NaN),
    START,
    null,
    undefined,
  ])("the start %s", (startedAt) => {
    const error = thrownBy(() => rotationWindow({ startedAt: startedAt as string }));
    expect(error).toMatchObject({ name: "ConfigurationError", argument: "startedAt" });
  });

  test.for([0, -1, Number.NaN, Number.POSITIVE_INFINITY, 8785, "24", null])("a length of %s hours", (hours) => {
    const error = thrownBy(() => rotationWindow({ startedAt: new Date(START), hours: hours as number }));
    expect(error).toMatchObject({ name: "ConfigurationError", argument: "hours" });
  });

  test.for([
    ["is not a function", START],
    ["returns NaN", () => Number.NaN],
    ["returns a Date", () => new Date(START)],
    ["returns a promise", async () => START],
  ] as const)("a clock that %s", ([, now]) => {
    const error = thrownBy(() => rotationWindow({ startedAt: new Date(START), now: now as () => number }));
    expect(error).toMatchObject({ name: "ConfigurationError", argument: "now" });
  });
});
