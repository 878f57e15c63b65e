import type { CampaignResult, EpisodeResult } from "./campaign.ts";
import type { Finding } from "./judge.ts";
import { describePlan, type Plan } from "./plan.ts";

/** What is kept of a campaign, as JSON. */
export interface KeptResult extends CampaignResult {
  /** `YYYY-MM-DD`. */
  readonly date: string;
  readonly node: string;
  /** One-minute load average at the end. Other work on the machine makes every time longer. */
  readonly load?: number | undefined;
  readonly seconds: number;
}

/** One line about an episode. */
export function describeEpisode({ number, kind, calls, signed, codes, recoveryMs, findings }: EpisodeResult): string {
  const failed = Object.entries(codes).map(([code, count]) => `${count} ${code}`);
  const result = [`${signed} of ${calls} signed`, ...failed].join(", ");
  const [first] = findings;
  const bad = first === undefined ? "" : `  ✗ ${findings.length} findings, the first: ${first.rule}: ${first.what}`;
  return `${String(number).padStart(3)}  ${kind.padEnd(24)} ${result}; well after ${Math.round(recoveryMs)} ms${bad}`;
}

export function allFindings(result: CampaignResult): readonly Finding[] {
  const ofEpisodes = result.episodes.flatMap(({ number, kind, findings }) =>
    findings.map(({ rule, what }) => ({ rule, what: `in episode ${number}, ${kind}: ${what}` })),
  );
  return [...ofEpisodes, ...result.findings];
}

/** The end of a campaign: the figures, or what was found and how to repeat it. */
export function describeEnd(result: CampaignResult, plan: Plan): readonly string[] {
  const { backend, seed, tokens, calls, slowestMs, stalled, heapGrowthBytes } = result;
  const figures = `${backend}: ${tokens} tokens of ${calls} calls, the slowest ${Math.round(slowestMs)} ms, heap ${Math.round(heapGrowthBytes / 1024)} KiB, seed ${seed}, ${stalled} timeouts while the process stood still`;
  const findings = allFindings(result);
  if (findings.length === 0) return [figures, "No findings"];
  return [
    figures,
    `${findings.length} findings:`,
    ...firstOfEach(findings),
    `To repeat: npm run faults -- ${backend} --seed ${seed} --tokens ${plan.tokens}`,
    "With some kinds of fault only: add --only KIND,KIND. The schedule:",
    ...describePlan(plan),
  ];
}

const MOST_OF_A_RULE = 8;

function firstOfEach(findings: readonly Finding[]): readonly string[] {
  const seen = new Map<string, number>();
  return findings.flatMap(({ rule, what }) => {
    const count = (seen.get(rule) ?? 0) + 1;
    seen.set(rule, count);
    return count > MOST_OF_A_RULE ? [] : [`  ${rule}: ${what}`];
  });
}
