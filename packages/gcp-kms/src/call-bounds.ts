import { ConfigurationError } from "@signpost/core";

/** How long one call may take. */
export interface CallBounds {
  /** Milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /**
   * How much longer to wait for the client to end a call that its signal or timeout has ended, so that nobody takes
   * its place while it runs. Milliseconds, default 0: whoever waits is released at once.
   */
  readonly settleMs?: number | undefined;
}

// The longest delay that a Node timer takes; a longer one fires at once.
const MAX_TIMER_MS = 2_147_483_647;

/** A bound in time that a timer can keep. */
export function milliseconds(argument: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 1 && value <= MAX_TIMER_MS) return value;
  throw new ConfigurationError(argument, `expected a whole number of milliseconds from 1 to ${MAX_TIMER_MS}`);
}
