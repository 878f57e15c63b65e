import type { Failure } from "../program/failure.ts";
import type { Level } from "./measure.ts";
import type { Plan } from "./plan.ts";
import type { Tally } from "./tally.ts";

/** Everything that was measured. */
export interface Report {
  readonly uri: string;
  readonly plan: Plan;
  /** Of the sides, Signpost first. */
  readonly names: readonly string[];
  readonly levels: readonly Level[];
  /** Whether Ctrl-C ended it. */
  readonly wasStopped: boolean;
}

/** The columns of a table, and the members in JSON. */
export const PERCENTILES = [
  ["p50", 50],
  ["p90", 90],
  ["p99", 99],
  ["p99.9", 99.9],
] as const;

/** Signpost against the bare call. */
export interface Comparison {
  /** Milliseconds, by the names of `PERCENTILES`. Null if one of both is not known. */
  readonly addedMs: Readonly<Record<string, number | null>>;
  readonly ratio: Readonly<Record<string, number | null>>;
  /** Signatures per second, as a part of those of the bare call. */
  readonly perSecondRatio: number | null;
}

/** Undefined without a bare call. */
export function compare([ours, bare]: readonly Tally[]): Comparison | undefined {
  if (ours === undefined || bare === undefined) return undefined;
  const each = (join: (ours: number, bare: number) => number): Readonly<Record<string, number | null>> =>
    Object.fromEntries(
      PERCENTILES.map(([name, percent]) => {
        const [a, b] = [ours.percentile(percent), bare.percentile(percent)];
        return [name, a === null || b === null ? null : join(a, b)];
      }),
    );
  return {
    addedMs: each((a, b) => a - b),
    ratio: each((a, b) => a / b),
    perSecondRatio: bare.perSecond === 0 ? null : ours.perSecond / bare.perSecond,
  };
}

/** `failed`: why the picture could not be written. */
export function asJson({ uri, plan, names, levels, wasStopped }: Report, failed?: Failure): object {
  const { biller, billedAtMost } = plan;
  const failures = levels.flatMap(({ tallies }) => tallies).reduce((sum, tally) => sum + tally.failures, 0);
  return {
    ok: failures === 0 && !wasStopped && failed === undefined,
    ...(failed === undefined ? {} : { error: { code: failed.code, message: failed.message } }),
    uri,
    wasStopped,
    billed: biller === undefined ? null : { by: biller, callsAtMost: billedAtMost },
    levels: levels.map(({ concurrency, tallies, gaveUp }) => {
      const [ours, bare] = tallies;
      return {
        concurrency,
        gaveUp,
        signpost: ours === undefined ? null : tallyAsJson(ours),
        raw: bare === undefined ? null : { name: names[1], ...tallyAsJson(bare) },
        added: compare(tallies) ?? null,
      };
    }),
  };
}

function tallyAsJson(tally: Tally): object {
  const { signatures, failures, errors, repeats, perSecond, min, mean, max, buckets } = tally;
  const percentiles = PERCENTILES.map(([name, percent]) => [name, tally.percentile(percent)] as const);
  return {
    signatures,
    failures,
    errors,
    repeats,
    perSecond,
    ms: Object.fromEntries(
      [["min", min] as const, ["mean", mean] as const, ...percentiles, ["max", max] as const].map(([name, ms]) => [
        name,
        rounded(ms),
      ]),
    ),
    histogram: buckets.map(({ fromMs, toMs, count }) => ({ fromMs: rounded(fromMs), toMs: rounded(toMs), count })),
  };
}

/** To nanoseconds, which no clock here is finer than. */
function rounded(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms * 1e6) / 1e6;
}
