import { elapsedMs, elapsedOnBothMs, readInstant, wasFrozen } from "@signpost/core/adapter";
import { expect, it, vi } from "vitest";

const since = { monotonic: 1000, wall: 1_800_000_000_000 };
const later = (monotonicMs: number, wallMs: number) => ({
  monotonic: since.monotonic + monotonicMs,
  wall: since.wall + wallMs,
});

it.each([
  ["both go on", 500, 500, 500, 500],
  ["the monotonic clock stood still", 50, 600_000, 600_000, 50],
  ["the wall clock was set forward", 500, 3_600_500, 3_600_500, 500],
  ["the wall clock was set back", 500, -3_599_500, 500, -3_599_500],
])("%s", (_name, monotonicMs, wallMs, either, both) => {
  expect(elapsedMs(since, later(monotonicMs, wallMs))).toBe(either);
  expect(elapsedOnBothMs(since, later(monotonicMs, wallMs))).toBe(both);
});

it.each([
  ["both went on", 600_000, 600_000, false],
  ["the wall clock was corrected by less than a second", 600_000, 600_999, false],
  ["the monotonic clock stood still", 50, 600_000, true],
  ["the wall clock was set back", 600_000, 500, false],
])("tells whether the process was frozen: %s", (_name, monotonicMs, wallMs, expected) => {
  expect(wasFrozen(since, later(monotonicMs, wallMs))).toBe(expected);
});

it("is over for trust, and not for a memory, where a clock gives no number", () => {
  const broken = { monotonic: 2000, wall: Number.NaN };
  expect(elapsedMs(since, broken) < 300_000).toBe(false);
  expect(elapsedOnBothMs(since, broken) >= 300_000).toBe(false);
});

it("reads the clocks of the process, or those that are given", () => {
  const monotonic = vi.spyOn(performance, "now").mockReturnValue(7);
  const wall = vi.spyOn(Date, "now").mockReturnValue(8);
  expect(readInstant()).toEqual({ monotonic: 7, wall: 8 });
  expect(readInstant({ clock: () => 1, now: () => 2 })).toEqual({ monotonic: 1, wall: 2 });
  expect(readInstant({ clock: () => 1 })).toEqual({ monotonic: 1, wall: 8 });
  monotonic.mockReturnValue(17);
  wall.mockReturnValue(9);
  expect(elapsedMs({ monotonic: 7, wall: 8 })).toBe(10);
  expect(elapsedOnBothMs({ monotonic: 7, wall: 8 })).toBe(1);
  vi.restoreAllMocks();
});

it.each([[Number.NaN], [Number.POSITIVE_INFINITY], ["1000"], [undefined], [10n]])(
  "refuses a clock that gives %s",
  (value) => {
    for (const argument of ["clock", "now"]) {
      expect(() => readInstant({ [argument]: () => value })).toThrow(
        expect.objectContaining({ name: "ConfigurationError", argument }),
      );
    }
  },
);
