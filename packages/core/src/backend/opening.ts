import { SignerError } from "../errors.ts";
import { readMilliseconds, readSignal } from "../options/read-values.ts";
import type { GuardPolicy } from "../signer/contract.ts";
import { onOwnAbort } from "../signer/on-abort.ts";
import { resolvePolicy } from "../signer/policy.ts";
import { withinDeadline } from "./within-deadline.ts";

/** The options of an adapter's open function that bound it. */
export interface OpeningOptions {
  /** The guard's policy, or `false` for a bare signer. */
  readonly policy?: GuardPolicy | false | undefined;
  /** Bound of opening, every attempt included. Milliseconds, 1 to 2,147,483,647. Default: the policy's `deadlineMs`. */
  readonly openDeadlineMs?: number | undefined;
  /** Aborts the opening. */
  readonly signal?: AbortSignal | undefined;
}

/** How long opening may take, and how often it may try. */
export interface OpeningBounds {
  /** Of all attempts together. Milliseconds. */
  readonly deadlineMs: number;
  /** Of one attempt. Milliseconds. Also the bound of a call that no guard of ours bounds. */
  readonly attemptTimeoutMs: number;
  /** The first attempt included. */
  readonly maxAttempts: number;
  /** The caller's. */
  readonly signal: AbortSignal | undefined;
}

/** Bound of one call of a bare signer, which the guard around it may not know. Milliseconds. */
const UNGUARDED_ATTEMPT_MS = 5000;

/**
 * The bounds of opening: those that the policy sets for a signature. Without a guard (`policy: false`) one attempt may
 * take 5 s, and the rest are the policy's defaults: 5 s in all, 3 attempts.
 *
 * @throws ConfigurationError for a policy, a deadline or a signal that could never work.
 * @example
 * ```ts
 * import { openingBounds } from "@signpost/core/adapter";
 *
 * const bounds = openingBounds({ policy: { maxAttempts: 2 }, openDeadlineMs: 10_000 });
 * ```
 */
export function openingBounds({ policy = {}, openDeadlineMs, signal }: OpeningOptions): OpeningBounds {
  const guarded = policy !== false;
  const { deadlineMs, attemptTimeoutMs, maxAttempts } = resolvePolicy(policy === false ? {} : policy, {});
  return {
    deadlineMs: openDeadlineMs === undefined ? deadlineMs : readMilliseconds("openDeadlineMs", openDeadlineMs),
    attemptTimeoutMs: guarded ? attemptTimeoutMs : UNGUARDED_ATTEMPT_MS,
    maxAttempts,
    signal: readSignal("signal", signal),
  };
}

/** What ends one call of a backend. */
export interface CallBounds {
  /** Aborts when the call's time is over, when the deadline is, and with the caller's signal. */
  readonly signal: AbortSignal;
  /** The same time, for a client that takes it as a number. Whole milliseconds, from 1. */
  readonly timeoutMs: number;
}

/** Two of them are longer than the second after which a gRPC channel connects again. */
const FIRST_PAUSE_MS = 400;
const MAX_PAUSE_MS = 1000;
/** What a last look at a key that is being made has left of the deadline. */
const LAST_ATTEMPT_MS = 200;
/** Less is no pause. */
const SHORTEST_PAUSE_MS = 10;

/**
 * Asks a backend for its key, and asks again after a transient error. It stops after `maxAttempts` failures and at the
 * deadline, whichever comes first. A key that `isPending` recognises in an error is still being made: waiting for it
 * costs no attempt, and ends at the deadline.
 *
 * Rejects with the last failure. An attempt that the deadline cut short says less than the one before it, and gives way
 * to it.
 *
 * @example
 * ```ts
 * import { openingBounds, retryOpening, type CallBounds } from "@signpost/core/adapter";
 *
 * declare function readPublicKey(attempt: CallBounds): Promise<Uint8Array>;
 *
 * const spki = await retryOpening(readPublicKey, openingBounds({}));
 * ```
 */
export async function retryOpening<Result>(
  attempt: (bounds: CallBounds) => Promise<Result>,
  bounds: OpeningBounds,
  isPending: (error: SignerError) => boolean = () => false,
): Promise<Result> {
  const until = performance.now() + bounds.deadlineMs;
  let failures = 0;
  let reason: SignerError | undefined;

  const tryOnce = (signal: AbortSignal): Promise<Result> => {
    const timeoutMs = Math.max(1, Math.ceil(Math.min(bounds.attemptTimeoutMs, until - performance.now())));
    const message = `no answer within ${timeoutMs} ms`;
    return withinDeadline((ending) => attempt({ signal: ending, timeoutMs }), {
      deadlineMs: timeoutMs,
      signal,
      message,
    });
  };
  /** How long to wait before the next attempt. Throws when there is none. */
  const pauseAfter = (error: unknown, pauseMs: number, leftMs: number): number => {
    if (!(error instanceof SignerError) || !error.transient) throw error;
    if (error.code !== "timeout" || leftMs >= bounds.attemptTimeoutMs || reason === undefined) reason = error;
    const waits = isPending(error);
    if (!waits) failures += 1;
    const latestMs = until - performance.now() - (waits ? LAST_ATTEMPT_MS : 0);
    // A key that is being made gets a last look shortly before the deadline.
    const nextMs = waits ? Math.min(pauseMs, latestMs) : pauseMs;
    if (failures >= bounds.maxAttempts || nextMs > latestMs || nextMs < SHORTEST_PAUSE_MS) throw reason;
    return nextMs;
  };
  const run = async (signal: AbortSignal): Promise<Result> => {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
      const leftMs = until - performance.now();
      try {
        return await tryOnce(signal);
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        await pause(pauseAfter(error, pauseMs, leftMs), signal);
      }
    }
  };
  try {
    return await withinDeadline(run, bounds);
  } catch (error) {
    // The deadline itself. Why it was reached says more.
    throw error instanceof SignerError && error.code === "timeout" ? (reason ?? error) : error;
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      letGo();
      resolve();
    }, ms);
    const letGo = onOwnAbort(signal, () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
