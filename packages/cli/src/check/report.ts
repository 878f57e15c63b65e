/** `must` and `should` as in RFC 2119. A `note` is worth knowing and breaks no rule. */
export type Severity = "must" | "should" | "note";

/** Something that a rule found. Its texts contain no control characters and no private value. */
export interface CheckFinding {
  readonly severity: Severity;
  /** What was seen. */
  readonly seen: string;
  /** What to do. */
  readonly advice: string;
}

/** What became of a rule: the worst severity of its findings. */
export type Verdict = "ok" | Severity | "skipped";

/** A rule and what became of it. */
export interface CheckRow {
  /** Stable, such as `etag`. */
  readonly rule: string;
  /** What the rule asks for. */
  readonly title: string;
  /** Where it is written, such as `RFC 9110 §8.8.3`. */
  readonly clause: string;
  readonly verdict: Verdict;
  /** What was seen if all is well, or why the rule was skipped. May be empty. */
  readonly seen: string;
  readonly findings: readonly CheckFinding[];
}

/** What `signpost check` found. */
export interface CheckReport {
  /** The URL that was given. */
  readonly target: string;
  /** The URL of the key set. Undefined if discovery did not tell it. */
  readonly jwksUrl: string | undefined;
  /** Why no server answered at all. Undefined if one did. */
  readonly unreachable: string | undefined;
  /** Whether no rule was broken. Notes break none. */
  readonly isOk: boolean;
  readonly isStrict: boolean;
  readonly rows: readonly CheckRow[];
}

const RANK: Readonly<Record<Severity, number>> = { note: 1, should: 2, must: 3 };

/** The worst severity, or `ok`. */
export function verdictOf(findings: readonly CheckFinding[]): Verdict {
  return findings.reduce<Severity | "ok">(
    (worst, { severity }) => (rank(severity) > rank(worst) ? severity : worst),
    "ok",
  );
}

/** What a person reads of one rule. A stranger may publish thousands of entries with a fault. */
const MOST_FINDINGS = 20;

/** The findings that a report keeps: all, or the worst and how many are left out. */
export function limited(findings: readonly CheckFinding[]): readonly CheckFinding[] {
  if (findings.length <= MOST_FINDINGS) return findings;
  const worst = findings.toSorted((a, b) => rank(b.severity) - rank(a.severity));
  const [next] = worst.splice(MOST_FINDINGS - 1);
  const count = findings.length - worst.length;
  const advice = "Correct these first, then check again.";
  return [...worst, { severity: next?.severity ?? "note", seen: `${count} more findings like these`, advice }];
}

function rank(verdict: Severity | "ok"): number {
  return verdict === "ok" ? 0 : RANK[verdict];
}

/** Whether a rule was broken. */
export function isBroken({ verdict }: CheckRow): boolean {
  return verdict === "must" || verdict === "should";
}
