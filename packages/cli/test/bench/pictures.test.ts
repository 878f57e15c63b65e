import { createColors } from "picocolors";
import { describe, expect, test } from "vitest";
import { rowsOf } from "../../src/bench/buckets.ts";
import type { Level } from "../../src/bench/measure.ts";
import { printReport } from "../../src/bench/render.ts";
import { asJson, type Report } from "../../src/bench/report.ts";
import { benchSvg } from "../../src/bench/svg.ts";
import { Tally } from "../../src/bench/tally.ts";
import { createOutput } from "../../src/terminal/output.ts";

// The report of a run as a picture, as text and as JSON, to the last place.

interface Side {
  readonly times: readonly number[];
  readonly perSecond?: number;
  readonly failed?: readonly string[];
  readonly repeats?: number;
}

function tallyOf({ times, perSecond = 0, failed = [], repeats = 0 }: Side): Tally {
  const tally = new Tally();
  for (const ms of times) tally.record(ms);
  for (const code of failed) tally.fail(code);
  tally.busyMs = perSecond === 0 ? 0 : (times.length * 1000) / perSecond;
  tally.repeats = repeats;
  return tally;
}

/** Times that grow by the same factor. */
const times = (count: number, from: number, factor: number): readonly number[] =>
  Array.from({ length: count }, (_, index) => from * factor ** index);

const STEADY: Side = { times: times(200, 20, 1.003), perSecond: 37.4 };
const FAST: Side = { times: times(200, 0.5, 1.01), perSecond: 1234 };
const TAIL: Side = { times: [...times(990, 10, 1.001), ...times(10, 5000, 1.1)], perSecond: 99.94 };
const BROKEN: Side = { times: [], failed: ["timeout", "throttled", "throttled"], repeats: 1234 };
const ONE: Side = { times: [7], perSecond: 1, failed: ["a\u202eb"], repeats: 1 };

const level = (concurrency: number, sides: readonly Side[], gaveUp = false): Level => ({
  concurrency,
  tallies: sides.map(tallyOf),
  gaveUp,
});

function reportOf(levels: readonly Level[], more: Partial<Report> = {}): Report {
  return {
    uri: "awskms:///arn:aws:kms:eu-west-1:111122223333:key/op",
    plan: {
      levels: [1],
      limits: { calls: 1, durationMs: 1 },
      biller: undefined,
      billedAtMost: 0,
    },
    names: ["signpost", "bare SDK"],
    levels,
    wasStopped: false,
    ...more,
  };
}

const ALONE = { names: ["signpost"] };
const REPORTS: readonly (readonly [what: string, report: Report])[] = [
  ["one side", reportOf([level(1, [STEADY]), level(16, [FAST])], { ...ALONE, uri: "local:op.pem" })],
  ["two sides", reportOf([level(1, [STEADY, FAST]), level(4, [TAIL, STEADY])])],
  ["a tail", reportOf([level(1, [TAIL])], ALONE)],
  ["no signature", reportOf([level(1, [BROKEN], true)], { ...ALONE, wasStopped: true })],
  ["no signature of one side", reportOf([level(1, [BROKEN, STEADY]), level(2, [STEADY, BROKEN])])],
  [
    "one signature",
    reportOf([level(1, [ONE])], {
      ...ALONE,
      plan: { levels: [1], limits: { calls: 1, durationMs: 1 }, biller: "AWS KMS", billedAtMost: 4 },
    }),
  ],
  ["no level", reportOf([])],
];

describe.each(REPORTS)("a report with %s", (_what, report) => {
  test("as a picture", () => {
    expect(benchSvg(report)).toMatchSnapshot();
  });

  test("as text", () => {
    let text = "";
    const write = (part: string | Uint8Array): void => void (text += String(part));
    printReport(report, createOutput({ write, colors: createColors(false), columns: 80, isTerminal: true }));
    expect(text).toMatchSnapshot();
  });

  test("as JSON", () => {
    const shown = JSON.parse(JSON.stringify(asJson(report)));
    for (const { signpost, raw } of shown.levels) {
      // Pinned by the picture and the text.
      for (const side of [signpost, raw]) if (side !== null) side.histogram = side.histogram.slice(0, 2);
    }
    expect(shown).toMatchSnapshot();
  });
});

test("a failure to write the picture is in the JSON", () => {
  const failed = { exitCode: 2, code: "svg", message: "it cannot be written", hint: undefined } as const;
  expect(asJson(reportOf([level(1, [STEADY])], ALONE), failed)).toMatchObject({
    ok: false,
    error: { code: "svg", message: "it cannot be written" },
  });
  expect(asJson(reportOf([level(1, [STEADY])], ALONE))).toMatchObject({ ok: true, wasStopped: false });
});

describe("the rows of a histogram", () => {
  test.each([
    [1, 1.0001, 4],
    [1, 1.004, 180],
    [1, 1.01, 180],
    [1, 1.02, 180],
    [1, 1.04, 180],
    [0.01, 1.1, 120],
    [0.001, 1.2, 120],
  ])("from %d ms by %d, %d times", (from, factor, count) => {
    const rows = rowsOf([tallyOf({ times: times(count, from, factor) })]);
    expect({ ...rows, starts: rows?.starts.map((start) => start.toPrecision(6)) }).toMatchSnapshot();
  });
});
