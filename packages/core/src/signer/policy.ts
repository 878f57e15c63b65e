import { ConfigurationError } from "../errors.ts";
import { assertOptions, type OptionNames } from "../options/assert-options.ts";
import { given } from "../given.ts";
import { readMilliseconds, readWholeNumber } from "../options/read-values.ts";
import type { GuardPolicy, Limiter } from "./contract.ts";
import { createLimiter } from "./limiter.ts";

export interface ResolvedPolicy {
  readonly deadlineMs: number;
  readonly attemptTimeoutMs: number;
  readonly maxAttempts: number;
  readonly limiter: Limiter;
}

/** An adapter's own defaults. The user's policy comes first. */
export type PolicyDefaults = Omit<GuardPolicy, "limiter">;

const POLICY_OPTIONS: OptionNames<GuardPolicy> = {
  deadlineMs: true,
  attemptTimeoutMs: true,
  maxAttempts: true,
  concurrency: true,
  maxQueue: true,
  limiter: true,
};

/** Concurrent backend calls. */
export const DEFAULT_CONCURRENCY = 16;

const DEFAULTS = {
  deadlineMs: 5000,
  attemptTimeoutMs: 2000,
  maxAttempts: 3,
  concurrency: DEFAULT_CONCURRENCY,
  maxQueue: 1000,
};

export function resolvePolicy(policy: GuardPolicy, defaults: PolicyDefaults): ResolvedPolicy {
  assertOptions("policy", policy, POLICY_OPTIONS);
  // Null does not select the default. It is refused like any other value that is not a number.
  const value = (name: keyof typeof DEFAULTS): number => {
    const own = policy[name] === undefined ? defaults[name] : policy[name];
    return own === undefined ? DEFAULTS[name] : own;
  };
  return {
    deadlineMs: readMilliseconds("policy.deadlineMs", value("deadlineMs")),
    attemptTimeoutMs: readMilliseconds("policy.attemptTimeoutMs", value("attemptTimeoutMs")),
    maxAttempts: readWholeNumber("policy.maxAttempts", value("maxAttempts"), 1, 100),
    limiter:
      resolveLimiter(policy) ?? createLimiter({ concurrency: value("concurrency"), maxQueue: value("maxQueue") }),
  };
}

/**
 * Checks a policy and returns a copy, so that later changes have no effect. For adapters, before they open anything.
 * `false` and `undefined` are fine.
 *
 * @throws ConfigurationError that names the option and its bounds.
 * @example
 * ```ts
 * import { readPolicy } from "@signpost/core/adapter";
 *
 * const policy = readPolicy({ deadlineMs: 3000 });
 * ```
 */
export function readPolicy(policy: GuardPolicy | undefined): GuardPolicy | undefined;
/** Same, for signers that may be bare. */
export function readPolicy(policy: GuardPolicy | false | undefined): GuardPolicy | false | undefined;
export function readPolicy(policy: GuardPolicy | false | undefined): GuardPolicy | false | undefined {
  if (policy === undefined || policy === false) return policy;
  assertOptions("policy", policy, POLICY_OPTIONS);
  const { deadlineMs, attemptTimeoutMs, maxAttempts, concurrency, maxQueue, limiter } = policy;
  const copy = { deadlineMs, attemptTimeoutMs, maxAttempts, concurrency, maxQueue, limiter };
  resolvePolicy(copy, {});
  return copy;
}

function resolveLimiter({ limiter, concurrency, maxQueue }: GuardPolicy): Limiter | undefined {
  if (limiter === undefined) return undefined;
  if (concurrency !== undefined || maxQueue !== undefined) {
    throw new ConfigurationError("policy.limiter", "expected either a limiter or concurrency and maxQueue, not both");
  }
  if (typeof limiter?.acquire !== "function") {
    throw new ConfigurationError("policy.limiter", `expected a limiter from createLimiter, got ${given(limiter)}`);
  }
  return limiter;
}
