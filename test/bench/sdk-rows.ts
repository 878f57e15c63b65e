import type { DelayedService } from "./delayed-service.ts";
import { concurrently, sequentially } from "./measure.ts";
import type { Contender, Pairing } from "./measure.ts";

// The rows that every service of the cloud gets.

type Call = () => Promise<unknown>;

/** Called one after another, or by this many callers at the same time. */
export interface SdkSides {
  readonly signer: Call;
  /** A token, its signature verified. */
  readonly token: Call;
  readonly bare: Call;
  /** The peer's name in the report. */
  readonly bareName: string;
}

const ADDED_TARGET_MS = 0.2;
/** For one signature. Milliseconds. */
const CPU_TARGET_MS = { signature: 0.05, token: 0.2 };
/** 97 % of the bare call's throughput. */
const TARGET_RATIO = 1 / 0.97;

const LATENCY_ROWS = [
  { delayMs: 0, operations: 40, pairs: 60 },
  { delayMs: 1, operations: 1, pairs: 300 },
  { delayMs: 10, operations: 1, pairs: 150 },
  { delayMs: 25, operations: 1, pairs: 120 },
  { delayMs: 50, operations: 1, pairs: 80 },
] as const;

const THROUGHPUT_DELAY_MS = 25;
const CONCURRENCIES = [1, 4, 16, 64, 256];
const ROUNDS = 3;

export function latencyRows(service: DelayedService, { signer, token, bare, bareName }: SdkSides): Pairing[] {
  const rowsOf = (what: keyof typeof CPU_TARGET_MS, ours: Contender["name"], call: Call): Pairing[] =>
    LATENCY_ROWS.map(({ delayMs, operations, pairs }) => ({
      name: `service of ${delayMs} ms, ${what}`,
      ours: { name: ours, run: service.withDelay(delayMs, sequentially(call)) },
      peer: { name: bareName, run: service.withDelay(delayMs, sequentially(bare)) },
      operations,
      pairs,
      target: { addedMs: ADDED_TARGET_MS, addedCpuMs: CPU_TARGET_MS[what] },
    }));
  return [...rowsOf("signature", "guarded signer", signer), ...rowsOf("token", "signJwt, each verified", token)];
}

/** One signature after another, with other sides than usual. */
export function signatureRow(
  service: DelayedService,
  name: string,
  delayMs: 0 | 25,
  sides: {
    readonly ours: Contender["name"];
    readonly signer: Call;
    readonly peer: Contender["name"];
    readonly bare: Call;
  },
): Pairing {
  const { operations, pairs } = LATENCY_ROWS[delayMs === 0 ? 0 : 3];
  return {
    name: `service of ${delayMs} ms, ${name}`,
    ours: { name: sides.ours, run: service.withDelay(delayMs, sequentially(sides.signer)) },
    peer: { name: sides.peer, run: service.withDelay(delayMs, sequentially(sides.bare)) },
    operations,
    pairs,
    target: { addedMs: ADDED_TARGET_MS, addedCpuMs: CPU_TARGET_MS.signature },
  };
}

/** This many concurrent callers. The signer must let that many through. */
export function throughputRows(service: DelayedService, { signer, token, bare, bareName }: SdkSides): Pairing[] {
  const rowsOf = (what: string, ours: Contender["name"], call: Call): Pairing[] =>
    CONCURRENCIES.map((concurrency) => ({
      name: `service of ${THROUGHPUT_DELAY_MS} ms, ${what}, ${concurrency} at once`,
      ours: { name: ours, run: service.withDelay(THROUGHPUT_DELAY_MS, concurrently(concurrency, call)) },
      peer: { name: bareName, run: service.withDelay(THROUGHPUT_DELAY_MS, concurrently(concurrency, bare)) },
      operations: ROUNDS * concurrency,
      pairs: 14,
      idealMs: THROUGHPUT_DELAY_MS / concurrency,
      target: { ratio: TARGET_RATIO },
    }));
  return [...rowsOf("signatures", "guarded signer", signer), ...rowsOf("tokens", "signJwt, each verified", token)];
}

/** Lets all concurrent callers through. On a busy machine a benchmark is slow, but does not fail. */
export const POLICY: Readonly<Record<"concurrency" | "deadlineMs" | "attemptTimeoutMs", number>> = {
  concurrency: Math.max(...CONCURRENCIES),
  deadlineMs: 60_000,
  attemptTimeoutMs: 60_000,
};
