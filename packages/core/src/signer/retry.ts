import type { SignerErrorCode } from "../errors.ts";

const BASE_DELAY_MS = 25;
// A throttling backend needs time. A lost connection is best retried soon.
const THROTTLED_BASE_DELAY_MS = 100;
const MAX_DELAY_MS = 1000;

/** Milliseconds to wait after this many attempts: exponential, with the upper half random, at most a second. */
export function retryDelayMs(attempts: number, code: SignerErrorCode, random: () => number = Math.random): number {
  const base = code === "throttled" ? THROTTLED_BASE_DELAY_MS : BASE_DELAY_MS;
  const ceiling = Math.min(base * 2 ** (attempts - 1), MAX_DELAY_MS);
  return ceiling / 2 + (ceiling / 2) * random();
}
