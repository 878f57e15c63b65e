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
  /** Undefined: no hedges. */
  readonly hedgeAfterMs: number | undefined;
}

/** An adapter's own defaults. The user's policy comes first. */
export type PolicyDefaults = Omit<GuardPolicy, "limiter" | "hedgeAfterMs">;

const POLICY_OPTIONS: OptionNames<GuardPolicy> = {
  deadlineMs: true,
  attemptTimeoutMs: true,
  maxAttempts: true,
  concurrency: true,
  maxQueue: true,
  limiter: true,
  hedgeAfterMs: true,
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

/** `refusesHedging`: why the signer must not have hedges, if it must not. */
export function resolvePolicy(policy: GuardPolicy, defaults: PolicyDefaults, refusesHedging?: string): ResolvedPolicy {
  assertOptions("policy", policy, POLICY_OPTIONS);
  // Null does not select the default. It is refused like any other value that is not a number.
  const value = (name: keyof typeof DEFAULTS): number => {
    const own = policy[name] === undefined ? defaults[name] : policy[name];
    return own === undefined ? DEFAULTS[name] : own;
  };
  const attemptTimeoutMs = readMilliseconds("policy.attemptTimeoutMs", value("attemptTimeoutMs"));
  return {
    deadlineMs: readMilliseconds("policy.deadlineMs", value("deadlineMs")),
    attemptTimeoutMs,
    hedgeAfterMs: readHedging(policy.hedgeAfterMs, attemptTimeoutMs, refusesHedging),
    maxAttempts: readWholeNumber("policy.maxAttempts", value("maxAttempts"), 1, 100),
    limiter:
      resolveLimiter(policy) ?? createLimiter({ concurrency: value("concurrency"), maxQueue: value("maxQueue") }),
  };
}

function readHedging(value: unknown, attemptTimeoutMs: number, refused: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const name = "policy.hedgeAfterMs";
  if (refused !== undefined) throw new ConfigurationError(name, `expected none, because ${refused}`);
  const hedgeAfterMs = readMilliseconds(name, value);
  if (hedgeAfterMs < attemptTimeoutMs) return hedgeAfterMs;
  throw new ConfigurationError(name, `expected less than attemptTimeoutMs (${attemptTimeoutMs}), got ${given(value)}`);
}

/** What is special about the signers of an adapter, for `readPolicy`. */
export interface PolicyRules {
  /** Why their calls must not be hedged, as in `SignerBackend`. Default: they may. */
  readonly refusesHedging?: string | undefined;
}

const POLICY_RULES: OptionNames<PolicyRules> = { refusesHedging: true };

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
export function readPolicy(policy: GuardPolicy | undefined, rules?: PolicyRules): GuardPolicy | undefined;
/** Same, for signers that may be bare. */
export function readPolicy(
  policy: GuardPolicy | false | undefined,
  rules?: PolicyRules,
): GuardPolicy | false | undefined;
export function readPolicy(
  policy: GuardPolicy | false | undefined,
  rules: PolicyRules = {},
): GuardPolicy | false | undefined {
  assertOptions("rules", rules, POLICY_RULES);
  if (policy === undefined || policy === false) return policy;
  assertOptions("policy", policy, POLICY_OPTIONS);
  const { deadlineMs, attemptTimeoutMs, maxAttempts, concurrency, maxQueue, limiter, hedgeAfterMs } = policy;
  const copy = { deadlineMs, attemptTimeoutMs, maxAttempts, concurrency, maxQueue, limiter, hedgeAfterMs };
  resolvePolicy(copy, {}, rules.refusesHedging);
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
