import { ConfigurationError } from "../errors.ts";
import { wholeNumber } from "../options.ts";
import type { GuardPolicy, Limiter } from "./contract.ts";
import { createLimiter } from "./limiter.ts";

// The longest delay that a Node timer takes; a longer one fires at once.
const MAX_TIMER_MS = 2_147_483_647;

export interface ResolvedPolicy {
  readonly deadlineMs: number;
  readonly attemptTimeoutMs: number;
  readonly maxAttempts: number;
  readonly limiter: Limiter;
}

export function resolvePolicy(policy: GuardPolicy): ResolvedPolicy {
  return {
    deadlineMs: wholeNumber("policy.deadlineMs", policy.deadlineMs ?? 5000, 1, MAX_TIMER_MS),
    attemptTimeoutMs: wholeNumber("policy.attemptTimeoutMs", policy.attemptTimeoutMs ?? 2000, 1, MAX_TIMER_MS),
    maxAttempts: wholeNumber("policy.maxAttempts", policy.maxAttempts ?? 3, 1, 100),
    limiter: resolveLimiter(policy),
  };
}

function resolveLimiter({ limiter, concurrency, maxQueue }: GuardPolicy): Limiter {
  if (limiter === undefined) return createLimiter({ concurrency: concurrency ?? 16, maxQueue: maxQueue ?? 1000 });
  if (concurrency !== undefined || maxQueue !== undefined) {
    throw new ConfigurationError("policy.limiter", "expected either a limiter or concurrency and maxQueue, not both");
  }
  if (typeof limiter?.acquire !== "function") {
    throw new ConfigurationError("policy.limiter", "expected a limiter made by createLimiter");
  }
  return limiter;
}
