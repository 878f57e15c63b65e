import type { Colors } from "../../terminal/colors.ts";
import type { Output } from "../../terminal/output.ts";
import { printable, printableLines } from "../../terminal/printable.ts";
import { tableText } from "../../terminal/table.ts";
import type { Finding, Level } from "./finding.ts";

const MARKS: Readonly<Record<Level, (colors: Colors) => string>> = {
  mistake: ({ red }) => red("✗"),
  warning: ({ yellow }) => yellow("!"),
  note: ({ cyan }) => cyan("i"),
};

/** Prints what was found, the mark of each finding first and its path above the words. */
export function printFindings(name: string, findings: readonly Finding[], output: Output): void {
  const { colors } = output;
  if (findings.length === 0) return output.line(`${colors.bold(printable(name))}: ${colors.green("nothing to do")}`);
  output.line(colors.bold(printable(name)));
  output.line(
    tableText(
      findings.map((finding) => row(finding, colors)),
      output,
    ),
  );
  output.line();
  const count = (level: Level): number => findings.filter((finding) => finding.level === level).length;
  const [mistakes, warnings] = [count("mistake"), count("warning")];
  if (mistakes + warnings === 0) return output.line(colors.green("nothing to do"));
  const parts = [
    mistakes === 0 ? undefined : colors.red(`${mistakes} ${mistakes === 1 ? "mistake" : "mistakes"}`),
    warnings === 0 ? undefined : colors.yellow(`${warnings} ${warnings === 1 ? "warning" : "warnings"}`),
  ];
  output.line(parts.filter((part) => part !== undefined).join(", "));
}

function row({ level, rule, path, text, todo }: Finding, colors: Colors): readonly string[] {
  const place = [path === "" ? undefined : printable(path), level === "mistake" ? undefined : colors.dim(rule)];
  const lines = [
    place.filter((part) => part !== undefined).join("  "),
    printableLines(text),
    todo === undefined ? "" : colors.dim(`→ ${printable(todo)}`),
  ];
  return [`  ${MARKS[level](colors)}`, lines.filter((line) => line !== "").join("\n")];
}
