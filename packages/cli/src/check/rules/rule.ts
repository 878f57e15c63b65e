import type { Facts } from "../facts.ts";
import type { CheckFinding, CheckRow, Severity } from "../report.ts";
import { limited, verdictOf } from "../report.ts";

/** What a rule says about a recording. */
export type Outcome =
  | { readonly skipped: string }
  | { readonly seen: string; readonly findings: readonly CheckFinding[] };

/** A pure check of a recording. */
export interface Rule {
  readonly id: string;
  readonly title: string;
  readonly clause: string;
  readonly judge: (facts: Facts) => Outcome;
}

/** What to do about a header with one value that was sent several times. */
export const SEND_ONCE =
  "Send the header once (RFC 9110 §5.3). Some clients join the lines, and cannot read what they get.";

/** The rule does not apply. */
export function skipped(why: string): Outcome {
  return { skipped: why };
}

/** All is well. */
export function fine(seen = ""): Outcome {
  return { seen, findings: [] };
}

/** One finding. */
export function found(severity: Severity, seen: string, advice: string): Outcome {
  return { seen: "", findings: [{ severity, seen, advice }] };
}

/** Several findings, or none. */
export function findings(all: readonly CheckFinding[], seen = ""): Outcome {
  return { seen, findings: all };
}

/** Applies a rule. */
export function rowOf({ id, title, clause, judge }: Rule, facts: Facts): CheckRow {
  const outcome = judge(facts);
  if ("skipped" in outcome) {
    return { rule: id, title, clause, verdict: "skipped", seen: outcome.skipped, findings: [] };
  }
  const { seen, findings: all } = outcome;
  return { rule: id, title, clause, verdict: verdictOf(all), seen, findings: limited(all) };
}
