import type { Signer } from "@signpost/core";

/** How a simulated backend answers. */
export interface ServiceHealth {
  /** Multiplies every delay. 1: as usual. */
  slowdown: number;
  /** No answer to any call, no answer to new calls while those in flight are still answered, or each call fails. */
  outage: "none" | "silent" | "silent for new calls" | "failing";
}

export interface StragglingService {
  readonly signer: Signer;
  readonly health: ServiceHealth;
  /** Calls that it has received. */
  readonly calls: () => number;
}

/** What is usual for a KMS in the same Region. Milliseconds. */
const MEDIAN_MS = 40;
const SPREAD = 0.15;
/** One call in a hundred takes this long instead. */
const STRAGGLERS = 0.01;
const STRAGGLER_MS = [150, 900] as const;
const FAIL_AFTER_MS = 400;

/** A signer over a simulated backend with stragglers. It obeys its signal. The same seed gives the same delays. */
export function stragglingService(inner: Signer, seed: number, error: () => Error): StragglingService {
  const random = randomFrom(seed);
  const health: ServiceHealth = { slowdown: 1, outage: "none" };
  let calls = 0;
  const delayMs = (): number => {
    const [from, to] = STRAGGLER_MS;
    if (random() < STRAGGLERS) return from + (to - from) * random();
    // Log-normal (Box-Muller).
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    return MEDIAN_MS * Math.exp(SPREAD * normal);
  };
  const sign: Signer["sign"] = (digest, { signal } = {}) => {
    calls += 1;
    const waitMs = health.outage === "failing" ? FAIL_AFTER_MS : delayMs() * health.slowdown;
    const isLost = health.outage === "silent for new calls";
    return new Promise((resolve, reject) => {
      const answer = (): void => {
        if (isLost) return;
        if (health.outage === "none" || health.outage === "silent for new calls") resolve(inner.sign(digest));
        else if (health.outage === "failing") reject(error());
      };
      const timer = setTimeout(answer, waitMs);
      const end = (): void => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", end, { once: true });
    });
  };
  return { signer: { ...inner, sign }, health, calls: () => calls };
}

/** Mulberry32: from 0 to 1. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
