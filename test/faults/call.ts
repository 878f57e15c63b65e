import { setTimeout as pause } from "node:timers/promises";
import type { EndedCall } from "./judge.ts";

/** How long after its deadline a promise may settle. Milliseconds. */
const MARGIN_MS = 500;

/** When a promise is due. Milliseconds. */
export interface PromisePatience {
  readonly deadlineMs: number;
  /** A promise that has not settled so long after its deadline counts as one that never does. */
  readonly hangMs: number;
}

/** A promise that was watched until it settled, or until it was clear that it would not. */
export interface Watched {
  readonly outcome: EndedCall["outcome"] | undefined;
  /** Whether a timer fired before it settled that was started with it, for its deadline and the margin. */
  readonly late: boolean;
  /** From its begin to its end. Milliseconds. */
  readonly ms: number;
}

/**
 * Watches the promise of a call. Timers decide whether it is late, and no clock does: where the machine is busy, the timer of
 * the deadline is as late as this one, and still fires before it.
 */
export async function watchCall(
  begin: () => Promise<string>,
  { deadlineMs, hangMs }: PromisePatience,
): Promise<Watched> {
  const startedAt = process.hrtime.bigint();
  const limit = new AbortController();
  let outcome: EndedCall["outcome"] | undefined;
  let late = false;
  const lateness = setTimeout(() => {
    // What is due at the same time goes first.
    setImmediate(() => setTimeout(() => (late ||= outcome === undefined), 0));
  }, deadlineMs + MARGIN_MS);
  const settled = begin().then(
    (token) => void (outcome = { token }),
    (error: unknown) => void (outcome = { error }),
  );
  const hangs = pause(deadlineMs + hangMs, undefined, { signal: limit.signal }).catch(() => undefined);
  await Promise.race([settled, hangs]);
  const ms = Number(process.hrtime.bigint() - startedAt) / 1e6;
  clearTimeout(lateness);
  limit.abort();
  return { outcome, late, ms };
}
