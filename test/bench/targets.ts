// Every target with its results, from the reports.
import type { PairingResult, Target } from "./measure.ts";
import type { Estimate } from "./statistics.ts";
import { type BenchReport, estimate, percent, row, targetWords } from "./report.ts";
import { judgedParts, meets } from "./verdict.ts";

interface Verdict {
  readonly name: string;
  readonly found: string;
  readonly met: boolean;
}

/** A line for each target of each benchmark: how many of its rows meet it, and the result of each. */
export function targetsTable(reports: readonly BenchReport[]): string {
  return [
    row(["benchmark", "target", "met in", "not met", "met"]),
    row(["---", "---", "---", "---", "---"]),
    ...reports.flatMap((report) =>
      [...verdictsByTarget(report)].map(([target, verdicts]) => {
        const met = verdicts.filter((verdict) => verdict.met);
        const missed = verdicts.filter((verdict) => !verdict.met);
        return row([report.name, target, `${met.length} of ${verdicts.length}`, listed(missed), listed(met)]);
      }),
    ),
    "",
  ].join("\n");
}

function verdictsByTarget({ results, facts }: BenchReport): Map<string, Verdict[]> {
  const byTarget = new Map<string, Verdict[]>();
  for (const result of results) {
    for (const part of judgedParts(result)) {
      const limit = result.target[part] ?? Number.NaN;
      const target = targetWords(part, limit);
      const verdict = { name: result.name, found: found(result, part), met: meets(result, part) };
      byTarget.set(target, [...(byTarget.get(target) ?? []), verdict]);
    }
  }
  for (const { name, value, target } of facts) {
    if (target === undefined) continue;
    const verdict = { name, found: value, met: target.isMet };
    byTarget.set(target.words, [...(byTarget.get(target.words) ?? []), verdict]);
  }
  return byTarget;
}

function found({ ofIdeal, ...estimates }: PairingResult, part: keyof Target): string {
  return part === "ofIdeal" ? percent(ofIdeal?.ours ?? Number.NaN) : listedEstimate(estimates[part]);
}

function listedEstimate(found?: Estimate): string {
  return found === undefined ? "not measured" : estimate(found);
}

function listed(verdicts: readonly Verdict[]): string {
  return verdicts.map(({ name, found: figures }) => `${name}: ${figures}`).join("<br>");
}
