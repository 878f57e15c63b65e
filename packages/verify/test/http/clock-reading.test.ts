import { elapsedMs } from "@signpost/core/adapter";
import { expect, it } from "vitest";
import { createClockReader } from "../../src/http/clock-reading.ts";

/** What both clocks count from one step to the next, and how long that is in all. */
it.each<[string, readonly (readonly [number, number])[], number]>([
  [
    "both go on",
    [
      [1000, 1000],
      [1000, 1000],
    ],
    2000,
  ],
  [
    "the monotonic clock stands still",
    [
      [50, 600_000],
      [50, 600_000],
    ],
    1_200_000,
  ],
  [
    "the wall clock stands still",
    [
      [600_000, 0],
      [600_000, 0],
    ],
    1_200_000,
  ],
  [
    "the wall clock is set back, and the other one goes on",
    [
      [1000, -86_400_000],
      [1000, 1000],
    ],
    2000,
  ],
  [
    "the wall clock is set back, and the other one stands still",
    [
      [50, 600_000],
      [0, -86_400_000],
      [50, 600_000],
    ],
    1_200_000,
  ],
  [
    "the same again and again",
    [
      [50, 600_000],
      [0, -660_000],
      [50, 600_000],
      [0, -660_000],
      [50, 600_000],
    ],
    1_800_000,
  ],
  [
    "the wall clock is set forward, and back",
    [
      [1000, 86_401_000],
      [1000, -86_399_000],
      [1000, 1000],
    ],
    86_403_000,
  ],
  [
    "the wall clock is corrected by degrees",
    [
      [1000, 600],
      [1000, 600],
      [1000, 1400],
      [1000, 1400],
    ],
    4000,
  ],
  [
    "the wall clock jumps by its rounding",
    Array.from({ length: 1000 }, (_, index) => [1, index % 2 === 0 ? 0 : 2]),
    1001,
  ],
])("%s", (_name, steps, expected) => {
  let [monotonic, wall] = [1000, 1_800_000_000_000];
  const read = createClockReader({ clock: () => monotonic, now: () => wall });
  const since = read();
  let last = since;
  for (const [monotonicMs, wallMs] of steps) {
    [monotonic, wall] = [monotonic + monotonicMs, wall + wallMs];
    last = read();
    expect(last.date).toBe(wall);
  }
  expect(Math.abs(elapsedMs(since, last) - expected)).toBeLessThanOrEqual(100);
});
