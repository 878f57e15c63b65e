import { fileURLToPath } from "node:url";
import { createColors } from "picocolors";
import { expect, test } from "vitest";
import type { Level } from "../../src/bench/measure.ts";
import { printReport } from "../../src/bench/render.ts";
import type { Report } from "../../src/bench/report.ts";
import { benchSvg } from "../../src/bench/svg.ts";
import { Tally } from "../../src/bench/tally.ts";
import { createOutput } from "../../src/terminal/output.ts";

/** Times of a service of 25 ms with a tail, always the same. */
function tallyOf(count: number, base: number, perSecond: number): Tally {
  const tally = new Tally();
  for (let index = 0; index < count; index += 1) {
    const share = (index + 0.5) / count;
    tally.record(base * (0.9 + 0.12 * Math.sqrt(-2 * Math.log(1 - share))) + (share > 0.9985 ? 180 * share : 0));
  }
  tally.busyMs = (count * 1000) / perSecond;
  return tally;
}

function reportOf(levels: readonly Level[], more: Partial<Report> = {}): Report {
  const plan = { levels: [1], limits: { calls: 1, durationMs: 1 }, biller: undefined, billedAtMost: 0 };
  return {
    uri: "awskms:///arn:aws:kms:eu-west-1:111122223333:key/op",
    plan,
    names: ["signpost", "bare SDK"],
    levels,
    wasStopped: false,
    ...more,
  };
}

const failing = tallyOf(1000, 29, 498);
failing.fail("throttled");
failing.fail("throttled");
failing.fail("timeout");
failing.repeats = 12;
const report = reportOf([
  { concurrency: 1, tallies: [tallyOf(1000, 25.6, 37.4), tallyOf(1000, 25, 38.1)], gaveUp: false },
  { concurrency: 16, tallies: [failing, tallyOf(1000, 28, 517)], gaveUp: false },
]);

function printed(of: Report, color = false): string {
  let text = "";
  const write = (part: string | Uint8Array): void => void (text += String(part));
  printReport(of, createOutput({ write, colors: createColors(color), columns: 80, isTerminal: true }));
  return text;
}

test("the table and the histograms, as on a terminal", async () => {
  const file = fileURLToPath(new URL("../transcripts/bench.ansi", import.meta.url));
  const command = "signpost bench awskms:///alias/op-2026 --concurrency 1,16 --raw --yes";
  await expect(`$ ${command}\nAWS KMS bills up to 4,036 calls\n${printed(report, true)}`).toMatchFileSnapshot(file);
});

test("no line needs more than 80 columns, and nothing needs color", () => {
  const lines = printed(reportOf(report.levels, { names: ["signpost", "bare node:crypto"] })).split("\n");
  expect(lines.filter((line) => [...line].length > 80)).toEqual([]);
  expect(printed(report)).not.toContain("\u001B");
});

test("a run without a signature has no figures and no histogram", () => {
  const none = new Tally();
  none.fail("access_denied");
  const text = printed(
    reportOf([{ concurrency: 1, tallies: [none], gaveUp: true }], { names: ["signpost"], wasStopped: true }),
  );
  expect(text).toContain("✗ 1 at once, signpost: 1 failed: access_denied 1");
  expect(text).toContain("given up");
  expect(text).toContain("! Stopped: this is what was measured until then");
  expect(text).not.toContain("NaN");
});

test("the picture needs nothing from elsewhere, and text cannot leave its element", () => {
  const svg = benchSvg(reportOf(report.levels, { uri: 'local:<script>alert(1)</script>&"]]>\uFFFE\u0007' }));
  expect(svg).not.toMatch(/<script|href|url\(|@import|[^\P{Cc}\n]/u);
  expect(svg).toContain("&lt;script");
  // Neither is allowed in XML.
  expect(svg).not.toMatch(/\]\]>|\uFFFE/);
  expect(svg).toContain("prefers-color-scheme:dark");
  expect(svg).not.toContain("NaN");
});

test.each<[what: string, codes: readonly string[], repeats: number, gaveUp: boolean, lines: readonly string[]]>([
  ["one failure", ["timeout"], 0, false, ["✗ 2 at once, signpost: 1 failed: timeout 1"]],
  ["repeated calls", [], 1234, false, ["✗ 2 at once, signpost: 1,234 calls were repeated"]],
  ["the end", [], 0, true, ["✗ 2 at once: given up, because nothing but failures came"]],
  [
    "all of them",
    ["a", "b", "b"],
    1,
    true,
    [
      "✗ 2 at once, signpost: 3 failed: b 2, a 1",
      "✗ 2 at once, signpost: 1 calls were repeated",
      "✗ 2 at once: given up, because nothing but failures came",
    ],
  ],
])("what went wrong is told after a blank line: %s", (_what, codes, repeats, gaveUp, lines) => {
  const tally = tallyOf(10, 25, 40);
  for (const code of codes) tally.fail(code);
  tally.repeats = repeats;
  const text = printed(reportOf([{ concurrency: 2, tallies: [tally], gaveUp }], { names: ["signpost"] }));
  expect(text.split("\n\n").at(-1)).toBe(`${lines.join("\n")}\n`);
});

test("nothing comes after the histograms if nothing went wrong", () => {
  const text = printed(reportOf([{ concurrency: 2, tallies: [tallyOf(10, 25, 40)], gaveUp: false }]));
  expect(text).toMatch(/[^\n]\n$/);
});
