import type { Output } from "../terminal/output.ts";
import { tableText } from "../terminal/table.ts";
import { excerpt } from "./excerpt.ts";
import type { CheckFinding, CheckReport, CheckRow, Verdict } from "./report.ts";

type Page = Pick<Output, "colors" | "width">;

/** The report for people. What is most urgent comes last, where a terminal ends. */
export function renderReport(report: CheckReport, page: Page, isShort = false): string {
  const shown = ORDER.filter((verdict) => !isShort || verdict !== "ok");
  const rows = shown.flatMap((verdict) =>
    report.rows.filter((row) => row.verdict === verdict).map((row) => cells(row, MARKS[verdict](page.colors), page)),
  );
  return [
    ...(report.jwksUrl === undefined ? [] : [`Key set ${page.colors.bold(excerpt(report.jwksUrl, 200))}`, ""]),
    ...(rows.length === 0 ? [] : [tableText(rows, page), ""]),
    ...(isShort ? [] : notChecked(report.rows, page)),
    summary(report.rows, page),
  ].join("\n");
}

type Shown = Exclude<Verdict, "skipped">;
const ORDER: readonly Shown[] = ["ok", "note", "should", "must"];

const MARKS: Readonly<Record<Shown, (colors: Page["colors"]) => string>> = {
  must: ({ red }) => red("MUST"),
  should: ({ yellow }) => yellow("SHOULD"),
  note: ({ cyan }) => cyan("note"),
  ok: ({ green }) => green("✓"),
};

function cells(row: CheckRow, mark: string, page: Page): readonly string[] {
  const clause = row.clause.replace(/,.*/s, "");
  return [mark, row.rule, page.colors.dim(clause), told(row, page)];
}

function told({ title, seen, findings }: CheckRow, page: Page): string {
  if (findings.length > 0) return findings.map((finding) => describe(finding, findings.length, page)).join("\n");
  return seen === "" ? title : `${title}: ${seen}`;
}

function describe({ severity, seen, advice }: CheckFinding, count: number, page: Page): string {
  const which = count > 1 ? `${severity}: ` : "";
  // Word by word, so that a line that wraps keeps the style.
  const words = `→ ${advice}`.split(" ").map((word) => page.colors.dim(word));
  return `${which}${seen}\n${words.join(" ")}`;
}

/** More names than this are not listed. */
const MANY = 8;

/** The rules that were skipped, by their reasons. */
function notChecked(rows: readonly CheckRow[], { colors }: Page): readonly string[] {
  const skipped = rows.filter(({ verdict }) => verdict === "skipped");
  const reasons = [...new Set(skipped.map(({ seen }) => seen))];
  if (reasons.length === 0) return [];
  const lines = reasons.map((reason) => {
    const rules = skipped.filter(({ seen }) => seen === reason).map(({ rule }) => rule);
    const which = rules.length > MANY ? `${rules.length} rules` : rules.join(", ");
    return colors.dim(`not checked: ${which} (${reason})`);
  });
  return [...lines, ""];
}

function summary(rows: readonly CheckRow[], { colors }: Page): string {
  const findings = rows.flatMap((row) => row.findings);
  const count = (severity: string): number => findings.filter((one) => one.severity === severity).length;
  const [must, should, notes] = [count("must"), count("should"), count("note")];
  const noted = notes === 0 ? "" : `, ${notes} ${notes === 1 ? "note" : "notes"}`;
  if (must === 0 && should === 0) return colors.green(`No rule is broken${noted}.`);
  return colors.red(`${must} MUST and ${should} SHOULD broken${noted}.`);
}
