import type { Colors } from "../terminal/colors.ts";
import { MARKS, type Level } from "../terminal/levels.ts";
import type { Output } from "../terminal/output.ts";
import { printable, printableLines } from "../terminal/printable.ts";
import { tableText } from "../terminal/table.ts";
import type { Finding, KeyReport } from "./finding.ts";

/** Prints what was found out about a key. */
export function printReport({ name, uri, findings }: KeyReport, output: Output): void {
  const { colors } = output;
  output.line(
    `${colors.bold(printable(name))}${uri === undefined || uri === name ? "" : `  ${colors.dim(printable(uri))}`}`,
  );
  output.line(
    tableText(
      findings.map((finding) => row(finding, colors)),
      output,
    ),
  );
  output.line();
}

function row({ check, level, text, todo }: Finding, colors: Colors): readonly string[] {
  // A backend may have a part in both.
  const said = printableLines(text);
  const words = todo === undefined ? said : `${said}\n${colors.dim(`→ ${printable(todo)}`)}`;
  return [`  ${MARKS[level](colors)}`, check, words];
}

/** Prints how many findings need a person. */
export function printSummary(reports: readonly KeyReport[], output: Output): void {
  const { colors } = output;
  const count = (level: Level): number =>
    reports.flatMap(({ findings }) => findings).filter((finding) => finding.level === level).length;
  const keys = `${reports.length} ${reports.length === 1 ? "key" : "keys"}`;
  const [problems, warnings] = [count("problem"), count("warning")];
  if (problems + warnings === 0) return output.line(`${keys}: ${colors.green("nothing to do")}`);
  const parts = [
    problems === 0 ? undefined : colors.red(`${problems} ${problems === 1 ? "problem" : "problems"}`),
    warnings === 0 ? undefined : colors.yellow(`${warnings} ${warnings === 1 ? "warning" : "warnings"}`),
  ];
  output.line(`${keys}: ${parts.filter((part) => part !== undefined).join(", ")}`);
}
