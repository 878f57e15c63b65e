import { warmUpCalls, type Limits } from "./measure.ts";
import type { BenchFlags } from "./command.ts";

/** What will be measured, and what it may cost. */
export interface Plan {
  /** Calls at once, one level after the other. */
  readonly levels: readonly number[];
  readonly limits: Limits;
  /** Who bills each call. Undefined: nothing is billed. */
  readonly biller: string | undefined;
  /** The most calls that are billed, if none has to be repeated. */
  readonly billedAtMost: number;
}

/** The backends that bill each call. Other services bill by the hour, or not. */
const BILLERS: Readonly<Record<string, string>> = {
  awskms: "AWS KMS",
  gcpkms: "Google Cloud KMS",
  azurekms: "Azure Key Vault",
};

const LEVELS = [1, 4, 16];
/** Enough for p99.9. */
const BILLED_CALLS = 1000;
const FREE_MS = 3000;
/** What is billed in a second at most, however fast the answers are. No service allows more for one key by default. */
const BILLED_PER_SECOND = 1000;
/** To read the public key, and for a first signature. */
const OPENING_CALLS = 2;

export function planBench(scheme: string, { concurrency, duration, calls, raw }: BenchFlags): Plan {
  const levels = concurrency ?? LEVELS;
  const biller = BILLERS[scheme];
  const limits = limitsOf(duration, calls, biller !== undefined);
  const sides = raw === true ? 2 : 1;
  const billed = levels
    .map((level) => sides * (limits.calls + warmUpCalls(level)))
    .reduce((sum, each) => sum + each, OPENING_CALLS);
  return { levels, limits, biller, billedAtMost: biller === undefined ? 0 : billed };
}

function limitsOf(seconds: number | undefined, calls: number | undefined, isBilled: boolean): Limits {
  if (seconds === undefined) {
    if (calls !== undefined) return { calls, durationMs: Infinity };
    return isBilled ? { calls: BILLED_CALLS, durationMs: Infinity } : { calls: Infinity, durationMs: FREE_MS };
  }
  const most = isBilled ? Math.ceil(seconds * BILLED_PER_SECOND) : Infinity;
  return { calls: calls ?? most, durationMs: seconds * 1000 };
}
