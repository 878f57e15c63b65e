import { describe, expect, test } from "vitest";
import { rowsOf } from "../../src/bench/buckets.ts";
import type { Tally } from "../../src/bench/tally.ts";

// The rows of a histogram, by the steps of the tallies that they are made of.

const NS_PER_MS = 1_000_000;
/** A multiple of each width. */
const FIRST = 1024;

const msAt = (step: number): number => 2 ** (step / 16) / NS_PER_MS;
const stepOf = (ms: number): number => Math.round(Math.log2(ms * NS_PER_MS) * 16);

interface Side {
  /** How many calls took the time of a step. */
  readonly steps: Readonly<Record<number, number>>;
  /** The step in which the slowest percent begins. Default: too few calls to tell. */
  readonly slowFrom?: number;
}

function tallyOf({ steps, slowFrom }: Side): Tally {
  const known = Object.entries(steps).map(([step, count]) => ({ step: Number(step), count }));
  const last = known.at(-1)?.step;
  return {
    buckets: known.map(({ step, count }) => ({ fromMs: msAt(step), toMs: msAt(step + 1), count })),
    // In the middle of a step.
    percentile: (percent: number) => (percent === 99 && slowFrom !== undefined ? msAt(slowFrom + 0.5) : null),
    max: last === undefined ? null : msAt(last + 0.5),
  } as unknown as Tally;
}

/** Where the rows begin, in steps, and what is in them. */
function rows(...sides: readonly Side[]) {
  const found = rowsOf(sides.map(tallyOf));
  return found && { ...found, starts: found.starts.map(stepOf) };
}

describe("the rows", () => {
  test.each([
    [11, 1],
    [12, 2],
    [22, 2],
    [23, 4],
    [44, 4],
    [45, 8],
    [88, 8],
    [89, 16],
    [176, 16],
    [177, 32],
    [352, 32],
    [353, 64],
    [704, 64],
    [705, 128],
    [1408, 128],
  ])("of %i steps have %i steps each", (count, width) => {
    const found = rows({ steps: { [FIRST]: 1, [FIRST + count - 1]: 1 } });
    const starts = Array.from({ length: Math.ceil(count / width) }, (_, row) => FIRST + row * width);
    const counts = starts.map((_, row) => (row === 0 || row === starts.length - 1 ? 1 : 0));
    expect(found).toEqual({ starts, isLastOpen: false, counts: [counts] });
  });

  test("begin at a multiple of their width, and add up the steps in them", () => {
    const steps = { [FIRST + 3]: 1, [FIRST + 4]: 2, [FIRST + 7]: 4, [FIRST + 8]: 8, [FIRST + 30]: 16 };
    expect(rows({ steps })).toEqual({
      starts: [0, 4, 8, 12, 16, 20, 24, 28].map((step) => FIRST + step),
      isLastOpen: false,
      counts: [[1, 6, 8, 0, 0, 0, 0, 16]],
    });
  });

  test("are those of all sides, each with its own counts", () => {
    const found = rows({ steps: { [FIRST + 1]: 5 } }, { steps: {} }, { steps: { [FIRST]: 1, [FIRST + 2]: 3 } });
    expect(found).toEqual({
      starts: [FIRST, FIRST + 1, FIRST + 2],
      isLastOpen: false,
      counts: [
        [0, 5, 0],
        [0, 0, 0],
        [1, 0, 3],
      ],
    });
  });

  test("are one of a single time", () => {
    expect(rows({ steps: { [FIRST]: 7 } })).toEqual({ starts: [FIRST], isLastOpen: false, counts: [[7]] });
  });
});

describe("the slowest percent", () => {
  const steps = { [FIRST]: 1000, [FIRST + 2]: 5, [FIRST + 3]: 4, [FIRST + 90]: 1 };

  test("has one row together", () => {
    expect(rows({ steps, slowFrom: FIRST + 2 })).toEqual({
      starts: [FIRST, FIRST + 1, FIRST + 2, FIRST + 3],
      isLastOpen: true,
      counts: [[1000, 0, 5, 5]],
    });
  });

  test("is that of the slower side", () => {
    const found = rows({ steps, slowFrom: FIRST }, { steps: { [FIRST]: 1, [FIRST + 1]: 1 }, slowFrom: FIRST + 1 });
    expect(found).toEqual({
      starts: [FIRST, FIRST + 1, FIRST + 2],
      isLastOpen: true,
      counts: [
        [1000, 0, 10],
        [1, 1, 0],
      ],
    });
  });

  test("has no separate row where it ends in the last one", () => {
    const few = { [FIRST]: 10, [FIRST + 2]: 1 };
    expect(rows({ steps: few, slowFrom: FIRST + 2 })?.isLastOpen).toBe(false);
    expect(rows({ steps: few, slowFrom: FIRST + 50 })).toMatchObject({ isLastOpen: false, counts: [[10, 0, 1]] });
    expect(rows({ steps: few, slowFrom: FIRST + 1 })).toMatchObject({ isLastOpen: true, counts: [[10, 0, 1]] });
  });

  test("is not known of a side without a signature", () => {
    expect(rows({ steps: {} })).toBeUndefined();
    expect(rows({ steps: {}, slowFrom: FIRST + 9 }, { steps: { [FIRST]: 1 } })?.starts).toEqual([FIRST]);
  });
});
