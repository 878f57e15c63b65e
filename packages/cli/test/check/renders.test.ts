import { createColors } from "picocolors";
import { describe, expect, test } from "vitest";
import { renderReport } from "../../src/check/render.ts";
import type { CheckFinding, CheckReport, CheckRow, Verdict } from "../../src/check/report.ts";
import { eventToJson, renderEvent } from "../../src/check/watch/render.ts";
import type { WatchEvent } from "../../src/check/watch/state.ts";

// A report and the events of a watch as people and programs read them.

function row(rule: string, verdict: Verdict, seen = "", findings: readonly CheckFinding[] = []): CheckRow {
  return { rule, title: `Title of ${rule}`, clause: "RFC 1 §2, RFC 3 §4", verdict, seen, findings };
}

const finding = (severity: CheckFinding["severity"], seen: string): CheckFinding => ({
  severity,
  seen,
  advice: "Do something about it",
});

const ROWS: readonly CheckRow[] = [
  row("a-must", "must", "", [finding("must", "one"), finding("should", "two")]),
  row("b-ok", "ok"),
  row("c-ok", "ok", "what was seen"),
  row("d-note", "note", "", [finding("note", "three")]),
  row("e-should", "should", "", [finding("should", "four")]),
  row("f-skipped", "skipped", "no set"),
];
const skipped = (count: number): readonly CheckRow[] =>
  Array.from({ length: count }, (_, index) => row(`r${index}`, "skipped", "not asked"));

describe.each<[what: string, rows: readonly CheckRow[], jwksUrl: string | undefined]>([
  ["all verdicts", ROWS, "https://op.example/jwks"],
  ["a long URL", ROWS.slice(1, 2), `https://op.example/${"a".repeat(300)}`],
  ["nothing", [], undefined],
  ["nothing to say", ROWS.slice(1, 3), undefined],
  ["one note", ROWS.slice(3, 4), undefined],
  ["two notes", [...ROWS.slice(3, 4), row("g-note", "note", "", [finding("note", "five")])], undefined],
  ["a must alone", [row("a", "must", "", [finding("must", "one")])], undefined],
  ["a should alone", [row("a", "should", "", [finding("should", "one")])], undefined],
  ["eight skipped rules", skipped(8), undefined],
  ["nine skipped rules, and another reason", [...skipped(9), ...ROWS.slice(5)], undefined],
])("a report with %s", (_what, rows, jwksUrl) => {
  const report = { target: "https://op.example", jwksUrl, rows } as CheckReport;

  test.each([
    ["long", false, false],
    ["short", true, false],
    ["colored", false, true],
  ])("is %s", (_form, isShort, isColored) => {
    expect(renderReport(report, { colors: createColors(isColored), width: 80 }, isShort)).toMatchSnapshot();
  });
});

const AT = Date.parse("2026-07-01T08:00:00.001Z");
const LATER = AT + 3_600_000;
test.each<[event: WatchEvent]>([
  [{ event: "watching", at: AT, keys: ["a", "b\u0007"], cacheControl: "max-age=60" }],
  [{ event: "watching", at: AT - 1, keys: [], cacheControl: "" }],
  [{ event: "announced", at: AT, key: "a", direct: LATER, shared: LATER }],
  [{ event: "announced", at: AT, key: "a", direct: LATER, shared: LATER + 1000 }],
  [{ event: "announced", at: AT, key: "a", direct: undefined, shared: LATER }],
  [{ event: "announced", at: AT, key: "a", direct: LATER, shared: undefined }],
  [{ event: "may-sign", at: AT, key: "a", behindSharedCache: true }],
  [{ event: "may-sign", at: AT, key: "k".repeat(61), behindSharedCache: false }],
  [{ event: "withdrawn", at: AT, key: "a", trustedUntil: LATER }],
  [{ event: "withdrawn", at: AT, key: "a", trustedUntil: undefined }],
  [{ event: "lifetime", at: AT, cacheControl: "no-store" }],
  [{ event: "older", at: AT, age: 90, inUseUntil: LATER }],
  [{ event: "older", at: AT, age: 90, inUseUntil: undefined }],
  [{ event: "fault", at: AT, severity: "must", seen: "bad", advice: "Correct it" }],
  [{ event: "away", at: AT, why: "ECONNREFUSED" }],
  [{ event: "back", at: AT }],
])("the event %j has its lines", (event) => {
  const lines = [renderEvent(event, createColors(false)), renderEvent(event, createColors(true)), eventToJson(event)];
  expect(lines.join("\n")).toMatchSnapshot();
});
