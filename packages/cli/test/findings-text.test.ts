import { describe, expect, test } from "vitest";
import { note, ok, problem, warning, type Finding } from "../src/doctor/finding.ts";
import { printReport, printSummary } from "../src/doctor/render.ts";
import { printFindings } from "../src/rotate/validate/render.ts";
import { recordingContext } from "./support/recording-context.ts";

// What people read of findings: their marks, their words, and how many there are.

const report = (...findings: readonly Finding[]) => ({ name: "op", uri: undefined, findings, away: false });
const WARNING = warning("clock", "6 s behind", "Synchronize it");
const PROBLEM = problem("probe", "it does not sign", "Do not use it");

function printed(print: (output: ReturnType<typeof recordingContext>["output"]) => unknown): string {
  const context = recordingContext("/");
  print(context.output);
  return context.printed();
}

describe("doctor says", () => {
  test.each<[reports: readonly (readonly Finding[])[], summary: string]>([
    [[], "0 keys: nothing to do"],
    [[[]], "1 key: nothing to do"],
    [[[ok("open", "fine"), note("key", "by the way")], []], "2 keys: nothing to do"],
    [[[WARNING]], "1 key: 1 warning"],
    [[[WARNING], [WARNING]], "2 keys: 2 warnings"],
    [[[PROBLEM]], "1 key: 1 problem"],
    [[[PROBLEM, PROBLEM]], "1 key: 2 problems"],
    [[[PROBLEM, WARNING, ok("open", "fine")]], "1 key: 1 problem, 1 warning"],
  ])("of %j: %s", (reports, summary) => {
    expect(
      printed((output) =>
        printSummary(
          reports.map((findings) => report(...findings)),
          output,
        ),
      ),
    ).toBe(`${summary}\n`);
  });

  test("each finding with its mark, its check and what to do", () => {
    const text = printed((output) => printReport(report(ok("open", "fine"), WARNING, PROBLEM), output));
    expect(text.startsWith("op\n")).toBe(true);
    expect(text).toMatch(/✓\s+open\s+fine/);
    expect(text).toMatch(/clock\s+6 s behind\s+→ Synchronize it/);
    expect(text).toMatch(/✗\s+probe\s+it does not sign\s+→ Do not use it/);
    expect(text.endsWith("\n\n")).toBe(true);
  });

  test("a key's URI after its name, unless they are the same", () => {
    const first = (name: string, uri: string | undefined): string =>
      printed((output) => printReport({ name, uri, findings: [], away: false }, output)).split("\n")[0] ?? "";
    expect(first("op", "local:op.pem")).toBe("op  local:op.pem");
    expect(first("local:op.pem", "local:op.pem")).toBe("local:op.pem");
    expect(first("op", undefined)).toBe("op");
    expect(first("o\u202ep", "local:\u202e")).toBe("o\\u202ep  local:\\u202e");
  });
});

describe("rotate validate says", () => {
  const finding = (level: "mistake" | "warning" | "note", path = "keys") => ({
    level,
    rule: "late",
    path,
    text: "it is late",
    todo: "Move it",
  });
  const of = (...findings: readonly unknown[]): string =>
    printed((output) => printFindings("op.json", findings as never, output));

  test.each<[findings: readonly unknown[], last: string]>([
    [[], "op.json: nothing to do"],
    [[finding("note")], "nothing to do"],
    [[finding("mistake")], "1 mistake"],
    [[finding("mistake"), finding("mistake")], "2 mistakes"],
    [[finding("warning"), finding("note")], "1 warning"],
    [[finding("warning"), finding("warning"), finding("mistake")], "1 mistake, 2 warnings"],
  ])("of %j at last: %s", (findings, last) => {
    expect(
      of(...findings)
        .trimEnd()
        .split("\n")
        .at(-1),
    ).toBe(last);
  });

  test("the place, the rule of what is no mistake, the words and what to do", () => {
    expect(of(finding("mistake"))).toMatch(/^op\.json\n\s+✗\s+keys\n\s+it is late\n\s+→ Move it\n\n1 mistake\n$/);
    expect(of(finding("warning"))).toMatch(/^op\.json\n\s+!\s+keys {2}late\n\s+it is late\n\s+→ Move it\n/);
    expect(of(finding("note", ""))).toMatch(/^op\.json\n\s+i\s+late\n\s+it is late\n\s+→ Move it\n/);
    expect(of({ ...finding("mistake", ""), todo: undefined })).toMatch(/^op\.json\n\s+✗\s+it is late\n\n1 mistake\n$/);
  });
});
