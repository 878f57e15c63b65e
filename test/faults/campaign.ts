import { setTimeout as pause } from "node:timers/promises";
import { type FaultSwitch, type FaultyBackend, POLICY } from "./backend.ts";
import type { PromisePatience } from "./call.ts";
import { takeClocks } from "./clocks.ts";
import { clockFaults } from "./generic-faults.ts";
import { type Finding, judgeFault } from "./judge.ts";
import { ALL_KINDS, KINDS, type Kind } from "./kinds.ts";
import { createLoad, type Load, type Tally } from "./load.ts";
import type { Episode, Plan } from "./plan.ts";
import { startProvider, type Provider } from "./provider.ts";
import { watchStalls } from "./stalls.ts";
import { countResources, judgeMemory, leftBehind, usedBytes, watchProcess } from "./watch.ts";

/** What came of an episode. */
export interface EpisodeResult {
  readonly number: number;
  readonly kind: Kind;
  /** Of the calls during the fault. */
  readonly calls: number;
  readonly signed: number;
  readonly codes: Readonly<Record<string, number>>;
  /** From the end of the fault until calls at the same time were all signed again. Milliseconds. */
  readonly recoveryMs: number;
  /** How long that may take. Milliseconds. */
  readonly boundMs: number;
  readonly slowestMs: number;
  readonly findings: readonly Finding[];
}

/** What came of a campaign. */
export interface CampaignResult {
  readonly backend: string;
  readonly seed: number;
  /** Tokens that were verified. */
  readonly tokens: number;
  readonly calls: number;
  readonly slowestMs: number;
  /** Calls that timed out while the process stood still. They are not judged. */
  readonly stalled: number;
  readonly heapGrowthBytes: number;
  readonly episodes: readonly EpisodeResult[];
  /** Findings about the whole: what is left behind, memory, rejections. */
  readonly findings: readonly Finding[];
}

/** How long after a fault calls may still fail, where the backend says nothing else. Milliseconds. */
export const RECOVERY_MS = 5_000;
const AGAIN_MS = 25;
const PATIENCE: Patience = { deadlineMs: POLICY.deadlineMs, hangMs: 20_000, goneMs: 15_000 };
const SIGNS = { effect: "signs", codes: [] } as const;

/** The faults that a campaign itself can make on every backend. */
const OWN_KINDS: readonly Kind[] = ["rotation", "emergency", "shutdown"];

/** Every kind that a backend can have, in the order of the tables. */
export function kindsOf({ faults }: Pick<FaultyBackend, "faults">): readonly Kind[] {
  using clocks = takeClocks();
  const own = clockFaults(clocks);
  return ALL_KINDS.filter((kind) => kind in faults || kind in own || OWN_KINDS.includes(kind));
}

/** How long a campaign waits for promises, and for what must be gone at the end. Milliseconds. */
export interface Patience extends PromisePatience {
  readonly goneMs: number;
}

export interface CampaignOptions {
  readonly name: string;
  readonly backend: FaultyBackend;
  readonly plan: Plan;
  /** Called after each episode. */
  readonly report?: ((episode: EpisodeResult) => void) | undefined;
  /** For tests of the judge: puts a defect into the OP. */
  readonly spoil?: ((provider: Provider) => Provider) | undefined;
  /** For the same tests. */
  readonly patience?: Patience | undefined;
}

/** Runs a plan. Closes all signers, and not the backend. */
export async function runCampaign(options: CampaignOptions): Promise<CampaignResult> {
  const { name, backend, plan, report, spoil = (provider: Provider) => provider } = options;
  const { goneMs, ...promises } = options.patience ?? PATIENCE;
  using watch = watchProcess();
  using clocks = takeClocks();
  using stalls = watchStalls();
  const before = countResources();
  const provider = spoil(await startProvider(backend));
  const load = createLoad(provider, stalls, promises);
  const faults = { ...clockFaults(clocks), ...backend.faults };
  const total = { tokens: 0, calls: 0, slowestMs: 0, stalled: 0 };
  const add = ({ signed, calls, slowestMs, stalled }: Tally): void => {
    total.tokens += signed;
    total.calls += calls;
    total.stalled += stalled;
    total.slowestMs = Math.max(total.slowestMs, slowestMs);
  };

  const results: EpisodeResult[] = [];
  let usedAtFirst = 0;
  for (const episode of plan.episodes) {
    if (results.length === Math.ceil(plan.episodes.length / 4)) usedAtFirst = usedBytes();
    const result = await runEpisode({ provider, load, faults, backend, add }, episode);
    results.push(result);
    report?.(result);
  }
  const rest = await load.run({ calls: Math.max(8, plan.tokens - total.tokens), concurrency: 8, allowed: SIGNS });
  add(rest);
  backend.forget();
  const heapGrowthBytes = usedAtFirst === 0 ? 0 : usedBytes() - usedAtFirst;
  await provider.close();
  await backend.closeClients?.();
  const left = await leftBehind(before, () => backend.open(), goneMs);
  // What is rejected last is reported after the next turn of the loop.
  await pause(50);
  return {
    backend: name,
    seed: plan.seed,
    ...total,
    heapGrowthBytes,
    episodes: results,
    findings: [...rest.findings, ...left, ...judgeMemory(heapGrowthBytes), ...watch.findings, ...tooFew(total, plan)],
  };
}

interface Stage {
  readonly provider: Provider;
  readonly load: Load;
  readonly faults: Partial<Readonly<Record<Kind, FaultSwitch>>>;
  readonly backend: FaultyBackend;
  add(tally: Tally): void;
}

async function runEpisode(stage: Stage, episode: Episode): Promise<EpisodeResult> {
  const { provider, load, backend, faults } = stage;
  const { kind, concurrency } = episode;
  const row = KINDS[kind];
  const fault: FaultSwitch = faults[kind] ?? { on: () => undefined, off: () => undefined };
  const effect = fault.effect ?? row.effect;
  const allowed = { effect, codes: [...row.codes, ...(fault.codes ?? [])] };

  const calm = await load.run({ calls: episode.calm, concurrency, allowed: SIGNS });
  stage.add(calm);
  backend.forget();
  const feltBefore = fault.felt?.() ?? 0;
  // Calls are under way when it begins.
  let acting = true;
  const hitting = load.run({ calls: concurrency, concurrency, allowed, goOn: () => acting });
  const failures = await begin(fault, kind, stage).finally(() => {
    acting = false;
  });
  const first = await hitting;
  const more = await load.run({ calls: Math.ceil(concurrency / 2), concurrency, allowed });
  const felt = fault.felt === undefined ? undefined : fault.felt() - feltBefore;
  await fault.off();
  if (kind === "shutdown") await provider.startAgain();
  const boundMs = fault.recoveryMs ?? RECOVERY_MS;
  const recovery = await recover(stage, allowed, boundMs);
  stage.add(first);
  stage.add(more);
  const codes = addUp(first.codes, more.codes);
  const signed = first.signed + more.signed;
  const calls = first.calls + more.calls;
  return {
    number: episode.number,
    kind,
    calls,
    signed,
    codes,
    recoveryMs: recovery.ms,
    boundMs,
    slowestMs: Math.max(calm.slowestMs, first.slowestMs, more.slowestMs),
    findings: [
      ...calm.findings,
      ...failures,
      ...first.findings,
      ...more.findings,
      ...judgeFault(kind, effect, calls - signed, felt),
      ...recovery.findings,
    ],
  };
}

async function begin(fault: FaultSwitch, kind: Kind, stage: Stage): Promise<readonly Finding[]> {
  await fault.on(stage.provider.current.key);
  return actInTheMiddle(kind, stage);
}

/** What the OP itself does while calls are under way. */
async function actInTheMiddle(kind: Kind, { provider, load }: Stage): Promise<readonly Finding[]> {
  const settled = (): Promise<void> => load.settled();
  const old = provider.current.kid;
  if (kind === "shutdown") await provider.shutDown();
  if (kind === "rotation") await provider.rotate(settled);
  if (kind === "emergency") await provider.revoke(settled);
  if (kind !== "rotation" && kind !== "emergency") return [];
  const kids = [...provider.published().keys()];
  if (kids.length === 1 && kids[0] === provider.current.kid && kids[0] !== old) return [];
  return [{ rule: "not published", what: `after ${kind}: ${kids.join(", ")} instead of ${provider.current.kid}` }];
}

/** Calls until as many as run at the same time are all signed, and the signer says that it is ready. */
async function recover(
  { provider, load, add }: Stage,
  allowed: { readonly codes: readonly string[] },
  boundMs: number,
): Promise<{ readonly ms: number; readonly findings: readonly Finding[] }> {
  const endedAt = process.hrtime.bigint();
  const elapsed = (): number => Number(process.hrtime.bigint() - endedAt) / 1e6;
  const findings: Finding[] = [];
  for (;;) {
    const tally = await load.run({ calls: 8, concurrency: 8, allowed: { effect: "either", codes: allowed.codes } });
    add(tally);
    findings.push(...tally.findings);
    const { status, lastCode } = provider.current.signer.health();
    if (tally.signed === tally.calls && status === "ready") return { ms: elapsed(), findings };
    if (elapsed() > boundMs) {
      const what = `${tally.signed} of ${tally.calls} calls signed, ${status}, last error ${lastCode ?? "none"}, ${Math.round(elapsed())} ms after the fault`;
      return { ms: elapsed(), findings: [...findings, { rule: "no recovery", what }] };
    }
    await pause(AGAIN_MS);
  }
}

function addUp(a: Readonly<Record<string, number>>, b: Readonly<Record<string, number>>): Record<string, number> {
  const sum = { ...a };
  for (const [code, count] of Object.entries(b)) sum[code] = (sum[code] ?? 0) + count;
  return sum;
}

function tooFew({ tokens }: { readonly tokens: number }, plan: Plan): readonly Finding[] {
  if (tokens >= plan.tokens) return [];
  return [{ rule: "too few tokens", what: `${tokens} of ${plan.tokens}` }];
}
