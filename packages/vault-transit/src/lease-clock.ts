import { elapsedMs, readInstant, type Instant } from "@signpost/core/adapter";

/** The longest delay of a timer. A timer with a longer one fires immediately. Milliseconds. */
const MAX_TIMER_MS = 2_147_483_647;
/** When a lease is renewed: at two thirds of it, which leaves time for further attempts. */
const RENEWED_AT = 2 / 3;
/** How long after a failed renewal the next one is made. Milliseconds. */
const PAUSE_MS = 1000;

/** Says when a lease is due for renewal and when it is over. */
export interface LeaseClock {
  /** A lease of this length began at `since`. Infinity: it never ends. */
  start(leaseMs: number, since: Instant): void;
  isDue(): boolean;
  isOver(): boolean;
  /** The renewal failed. It is due again in a second. */
  postpone(): void;
  stop(): void;
}

/**
 * The timer serves an idle process, and keeps none alive. Calls ask `isDue` too, because no timer fires in a frozen
 * process.
 */
export function createLeaseClock(onDue: () => void): LeaseClock {
  let lease: { readonly ms: number; readonly since: Instant } | undefined;
  let pausedAt: Instant | undefined;
  let timer: NodeJS.Timeout | undefined;

  const arm = (ms: number): void => {
    clearTimeout(timer);
    if (!Number.isFinite(ms)) return;
    timer = setTimeout(onTimer, Math.min(Math.max(ms, 1), MAX_TIMER_MS));
    timer.unref();
  };
  const leftMs = (): number =>
    lease === undefined ? Number.POSITIVE_INFINITY : lease.ms * RENEWED_AT - elapsedMs(lease.since);
  const isDue = (): boolean => leftMs() <= 0 && (pausedAt === undefined || elapsedMs(pausedAt) >= PAUSE_MS);
  const onTimer = (): void => {
    // Timers may fire a millisecond early, and a long lease needs several.
    if (isDue()) onDue();
    else arm(Math.max(leftMs(), 10));
  };
  return {
    start: (ms, since) => {
      lease = { ms, since };
      pausedAt = undefined;
      arm(leftMs());
    },
    isDue,
    isOver: () => lease !== undefined && elapsedMs(lease.since) >= lease.ms,
    postpone: () => {
      pausedAt = readInstant();
      arm(PAUSE_MS);
    },
    stop: () => {
      clearTimeout(timer);
      lease = undefined;
    },
  };
}
