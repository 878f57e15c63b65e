import { setImmediate as turn } from "node:timers/promises";
import { SignerError } from "@signpost/core";
import { type PromisePatience, watchCall, type Watched } from "./call.ts";
import { type Allowed, type EndedCall, type Finding, judgeCall } from "./judge.ts";
import type { Provider } from "./provider.ts";
import type { StallWatch } from "./stalls.ts";
import type { Published } from "./verifier.ts";

/** What came of some calls. */
export interface Tally {
  readonly calls: number;
  readonly signed: number;
  /** How many calls failed, by code. */
  readonly codes: Readonly<Record<string, number>>;
  readonly findings: readonly Finding[];
  /** The longest time of a call. Milliseconds. */
  readonly slowestMs: number;
  /** Calls that timed out while this process stood still, so that the signer is not to blame. */
  readonly stalled: number;
}

export interface LoadPlan {
  readonly calls: number;
  readonly concurrency: number;
  readonly allowed: Allowed;
  /** Goes on as long as this is true, also if there have been as many calls. */
  readonly goOn?: (() => boolean) | undefined;
}

/** Calls of a provider, judged one by one. */
export interface Load {
  /** Makes calls until there have been as many. */
  run(plan: LoadPlan): Promise<Tally>;
  /** Resolves when the calls that are under way now have ended. */
  settled(): Promise<void>;
}

interface UnderWay {
  readonly kids: Set<string>;
  readonly ended: Promise<void>;
}

export function createLoad(provider: Provider, stalls: StallWatch, patience: PromisePatience): Load {
  let made = 0;
  const underWay = new Set<UnderWay>();
  provider.onChange = (kid) => {
    for (const { kids } of underWay) kids.add(kid);
  };

  const callOnce = async (allowed: Allowed, tally: OpenTally): Promise<void> => {
    const subject = `user-${(made += 1)}`;
    const kids = new Set([provider.current.kid]);
    const before = provider.published();
    const stalledMs = stalls.begin();
    const watching = watchCall(() => provider.issue(subject), patience);
    const entry: UnderWay = { kids, ended: watching.then(() => undefined) };
    underWay.add(entry);
    const watched = await watching;
    const published: Published[] = [before, provider.published()];
    underWay.delete(entry);
    const isStalled = stalledMs() > STALL_MS && isTimeout(watched);
    const findings = isStalled ? [] : judged(subject, watched, { published, kids }, allowed);
    tally.add(watched, findings, isStalled);
  };
  const judged = (
    subject: string,
    { outcome, late }: Watched,
    during: Pick<EndedCall, "published" | "kids">,
    allowed: Allowed,
  ): readonly Finding[] => {
    if (outcome === undefined) return [{ rule: "hanging promise", what: `${subject}: it never settled` }];
    const lateness: Finding[] = late
      ? [{ rule: "late promise", what: `${subject}: it settled after its deadline and the margin` }]
      : [];
    return [...lateness, ...judgeCall({ subject, outcome, ...during }, allowed, provider.truth)];
  };

  return {
    run: async ({ calls, concurrency, allowed, goOn = () => false }) => {
      const tally = createTally();
      let left = calls;
      const worker = async (): Promise<void> => {
        while (left > 0 || goOn()) {
          left -= 1;
          await callOnce(allowed, tally);
          // Calls that end at once would leave no time for anything else.
          await turn();
        }
      };
      await Promise.all(Array.from({ length: concurrency }, worker));
      return tally;
    },
    settled: async () => {
      await Promise.all([...underWay].map(({ ended }) => ended));
    },
  };
}

/** An attempt has a second. A process that stands still for so long may miss an answer that is there. Milliseconds. */
const STALL_MS = 300;

function isTimeout({ outcome }: Watched): boolean {
  return (
    outcome !== undefined &&
    "error" in outcome &&
    outcome.error instanceof SignerError &&
    outcome.error.code === "timeout"
  );
}

interface OpenTally extends Tally {
  add(watched: Watched, findings: readonly Finding[], isStalled: boolean): void;
}

function createTally(): OpenTally {
  const codes: Record<string, number> = {};
  const findings: Finding[] = [];
  const tally = {
    calls: 0,
    signed: 0,
    codes,
    findings,
    slowestMs: 0,
    stalled: 0,
    add: ({ outcome, ms }: Watched, found: readonly Finding[], isStalled: boolean): void => {
      tally.calls += 1;
      if (isStalled) tally.stalled += 1;
      tally.slowestMs = Math.max(tally.slowestMs, ms);
      findings.push(...found);
      if (outcome === undefined) return;
      if ("token" in outcome) tally.signed += 1;
      else {
        const code = String((outcome.error as { readonly code?: unknown } | undefined)?.code);
        codes[code] = (codes[code] ?? 0) + 1;
      }
    },
  };
  return tally;
}
